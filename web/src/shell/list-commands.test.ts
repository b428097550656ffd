import { expect, test, vi } from "vitest";
import { commandsOf, pagesWithCommands } from "./list-commands";
import { WITH_COMMANDS } from "./with-commands";

vi.stubGlobal("window", { location: { origin: "https://mill.example" } });

test("each page that offers its commands has some", () => {
  expect([...WITH_COMMANDS].toSorted()).toEqual(pagesWithCommands.toSorted());
  for (const page of WITH_COMMANDS) {
    if (page !== "/runs/compare") expect(commandsOf(page, {})).not.toEqual([]);
  }
});

test("commands have what the address names", () => {
  const texts = (page: string, search: Record<string, unknown>) =>
    commandsOf(page, search).map(({ text }) => text);
  expect(texts("/runs/compare", { a: "run_1", b: "run_2" })).toHaveLength(4);
  expect(texts("/sources", { action: "create", key: "rss-new-item" })[0]).toBe(
    "millrace deploy rss-new-item",
  );
  const url = "https://code.example/a b.mjs";
  expect(texts("/sources", { action: "create", url })[0]).toBe(`millrace deploy '${url}'`);
  expect(texts("/sources", { q: "orders" })[0]).toBe("millrace list sources");
});
