// The first half by the keyboard alone: first visit, a source, its events, a run that failed, its replay, a member, and out.
import { expect, test } from "@playwright/test";
import { enter, press, reach } from "../fixtures/keys.ts";
import { stranger } from "../fixtures/people.ts";
import { startServer } from "../fixtures/server.ts";

const code = `export default {
  name: "New orders", version: "0.1.0",
  props: {
    http: "$.interface.http",
    least: { type: "integer", label: "Least amount" },
    currencies: { type: "string[]", label: "Currencies", options: ["EUR", "SEK"] },
    isLive: { type: "boolean", label: "Live orders only", optional: true },
  },
  run({ body }) {
    if (!body?.id) throw new TypeError("an order needs an id");
    this.$emit(body, { id: body.id, summary: "Order " + body.id });
  },
};
`;

test("all of the first half is done by the keyboard alone", async ({ browser }) => {
  test.setTimeout(240_000);
  const server = await startServer();
  const context = await stranger(browser, server);
  const page = await context.newPage();
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  // What a mouse could do is not done: each click fails.
  await page.addInitScript(() => window.addEventListener("pointerdown", () => document.body.remove(), true));

  await page.goto(server.setupUrl());
  await expect(page.getByLabel("Your name")).toBeFocused();
  await page.keyboard.type("Mara Lindqvist");
  await press(page, "Tab");
  await page.keyboard.type("mara@northgate.example");
  await reach(page, page.getByLabel("Password", { exact: true }));
  await page.keyboard.type("a wheel in the race");
  await press(page, "Enter");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();

  // A source from code, its form and its first events.
  await press(page, "g", "s");
  await expect(page.getByRole("heading", { name: "Sources" })).toBeVisible();
  await enter(page, page.getByRole("link", { name: "New source" }).first());
  const find = page.getByRole("textbox", { name: "Search, or paste a key, a URL or code" });
  await reach(page, find);
  await page.keyboard.insertText(code);
  await enter(page, button("Check the code"));
  await reach(page, page.getByLabel("Least amount"));
  await page.keyboard.type("100");
  await reach(page, page.getByRole("combobox", { name: "Currencies" }));
  await page.keyboard.type("EU");
  await expect(page.getByRole("option", { name: "EUR" })).toBeVisible();
  await press(page, "Enter");
  await expect(page.getByText("EUR", { exact: true }).first()).toBeVisible();
  await reach(page, page.getByRole("switch", { name: "Live orders only" }));
  await press(page, "Space");
  await enter(page, button("Deploy source"));
  await expect(page.getByRole("heading", { name: "New orders" })).toBeVisible();
  const endpoint = (await page.locator("code.endpoint").textContent()) ?? "";
  const post = (body: unknown) => fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  // One after the other: runs of a source may go on at the same time.
  const rows = page.getByRole("table", { name: "Events" }).getByRole("row");
  await post({ id: 1041, amount: 4990 });
  await expect(rows).toHaveCount(2);
  await post({ id: 1042, amount: 4990 });
  await post({ amount: 500 });
  await expect(rows).toHaveCount(3);
  await press(page, "j", "j", "Enter");
  const event = page.getByRole("tree", { name: "Event" });
  await expect(event).toContainText("1041");
  await reach(page, event);
  await press(page, "End", "ArrowUp");
  await expect(event.getByRole("treeitem", { selected: true })).toContainText(/id|amount/);

  // The run that failed, its reason, its error group, and once more.
  await press(page, "g", "r");
  await expect(page.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
  await press(page, "/");
  await page.keyboard.type("needs an id");
  await press(page, "Enter");
  // A server begins to index ten seconds after its start.
  const failed = page.getByRole("row").filter({ hasText: "an order needs an id" });
  await expect(failed).toHaveCount(1, { timeout: 30_000 });
  await press(page, "j", "Enter");
  await expect(page).toHaveURL(/\/runs\/run_/);
  await expect(page.getByRole("tabpanel", { name: "Error" })).toContainText("an order needs an id");
  await press(page, "r");
  await expect(page.getByRole("dialog")).toBeVisible();
  await enter(page, page.getByRole("dialog").getByRole("button", { name: /^Replay/ }));
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await press(page, "g", "e");
  await expect(page.getByRole("heading", { name: "Errors", exact: true })).toBeVisible();
  await expect(page.getByText("an order needs an id").first()).toBeVisible();

  // The sheet, the palette, and a member.
  await press(page, "?");
  await expect(page.getByRole("dialog")).toContainText("Find a page, a record or a command");
  await press(page, "Escape");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await press(page, "ControlOrMeta+k");
  await expect(page.getByRole("dialog", { name: "Search or run a command" })).toBeVisible();
  await page.keyboard.type("Members");
  await press(page, "Enter");
  await expect(page.getByRole("heading", { name: "Members" })).toBeVisible();
  await enter(page, button("Invite"));
  await reach(page, page.getByLabel("E-mail"));
  await page.keyboard.type("jo@northgate.example");
  await press(page, "Enter");
  await reach(page, page.getByRole("checkbox", { name: "I stored it" }));
  await press(page, "Space");
  await enter(page, button("Done"));
  await expect(page.getByRole("table", { name: "Invitations" })).toContainText("jo@northgate.example");
  // The focus is where it was before the dialog.
  await expect(button("Invite")).toBeFocused();

  await enter(page, button("Mara Lindqvist"));
  await expect(page.getByRole("menu")).toBeVisible();
  while (!(await page.getByRole("menuitem", { name: "Sign out" }).evaluate((each) => each === document.activeElement))) await press(page, "ArrowDown");
  await press(page, "Enter");
  await expect(page.getByRole("heading", { name: "Sign in" })).toBeVisible();
  await expect(page.getByLabel("E-mail")).toBeFocused();
  await context.close();
  await server.stop();
});
