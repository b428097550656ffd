import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { propsOf } from "~/api/props";
import { keepLabel, keptLabel } from "./option-labels";

vi.mock("~/shell/preferences", () => ({ prefer: () => {} }));

const props = propsOf([
  { name: "book", type: "string", remoteOptions: true },
  { name: "sheet", type: "string", remoteOptions: true },
  { name: "note", type: "string" },
]);
const [book, sheet, note] = props;

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
    removeItem: (key: string) => void kept.delete(key),
  });
});
afterEach(() => vi.unstubAllGlobals());

test("a label is known again for the same value behind the same choices", () => {
  if (book === undefined || sheet === undefined || note === undefined) throw new Error("no props");
  const form = { props, values: { book: "b1", note: "typed" } };
  keepLabel(form, book, { label: "Sales", value: "b1" });
  keepLabel(form, sheet, { label: "Orders", value: 0 });
  expect(keptLabel({ props, values: { book: "b1" } }, sheet, 0)).toBe("Orders");
  expect(keptLabel(form, book, "b1")).toBe("Sales");
  expect(keptLabel({ props, values: { book: "b2" } }, sheet, 0)).toBeUndefined();
  expect(keptLabel(form, sheet, "0")).toBeUndefined();
});

test("the newest 300 labels are kept, and no very long one", () => {
  if (book === undefined) throw new Error("no prop");
  const form = { props, values: {} };
  for (let n = 0; n < 301; n += 1) keepLabel(form, book, { label: `Book ${n}`, value: n });
  keepLabel(form, book, { label: "x".repeat(201), value: "long" });
  expect(keptLabel(form, book, 0)).toBeUndefined();
  expect(keptLabel(form, book, 1)).toBe("Book 1");
  expect(keptLabel(form, book, 300)).toBe("Book 300");
  expect(keptLabel(form, book, "long")).toBeUndefined();
});
