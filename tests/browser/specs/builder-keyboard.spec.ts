// The whole evening by the keyboard alone: first visit, a source, a workflow on it, a broken step, the error, the mend, fix and finish, roll back.
import { expect, type Locator, type Page, test } from "@playwright/test";
import { enter, press, reach } from "../fixtures/keys.ts";
import { stranger } from "../fixtures/people.ts";
import { startServer } from "../fixtures/server.ts";
import { step } from "../fixtures/workflows.ts";

const orders = `export default { name: "Orders by hand", version: "0.1.0", props: { http: "$.interface.http" }, run({ body }) {
  this.$emit(body, { id: body.id, summary: "Order " + body.id }); } };`;
const label = (street: string) => step(`const order = steps.trigger.event; return { id: order.id, street: ${street} };`);

const button = (page: Page, name: string) => page.getByRole("button", { name, exact: true });

/** Puts code in the place of what the editor has; Escape, then Tab leaves it. */
async function code(page: Page, editor: Locator, text: string): Promise<void> {
  await reach(page, editor);
  await press(page, "ControlOrMeta+a", "Delete");
  await page.keyboard.insertText(text);
}

test("from the first visit on, a workflow is built, broken, mended, finished and rolled back by the keyboard alone", async ({ browser }) => {
  test.setTimeout(300_000);
  const server = await startServer();
  const context = await stranger(browser, server);
  const page = await context.newPage();
  const messages: string[] = [];
  page.on("console", (message) => {
    // Before there is a session the API answers 401, which the browser writes to its console.
    const told = message.type() === "error" || message.type() === "warning";
    if (told && !message.text().includes("status of 401")) messages.push(message.text());
  });
  page.on("pageerror", (error) => messages.push(String(error)));
  await page.addInitScript(() => window.addEventListener("pointerdown", () => document.body.remove(), true));

  // The link that the server printed, and a password.
  await page.goto(server.setupUrl());
  await expect(page.getByLabel("Your name")).toBeFocused();
  await page.keyboard.type("Mara Lindqvist");
  await press(page, "Tab");
  await page.keyboard.type("mara@northgate.example");
  await reach(page, page.getByLabel("Password", { exact: true }));
  await page.keyboard.type("a wheel in the race");
  await press(page, "Enter");

  // A source of own code, by the second of the three doors.
  await expect(page.getByRole("heading", { name: "Nothing is running yet. Send a first event." })).toBeVisible();
  await enter(page, page.getByRole("region", { name: "Three ways to start" }).getByRole("button", { name: "Find" }));
  await reach(page, page.getByRole("textbox", { name: "Search, or paste a key, a URL or code" }));
  await page.keyboard.insertText(orders);
  await enter(page, button(page, "Check the code"));
  await enter(page, button(page, "Deploy source"));
  await expect(page.getByRole("heading", { name: "Orders by hand" })).toBeVisible();
  const endpoint = (await page.locator("code.endpoint").textContent()) ?? "";
  const post = (body: object) =>
    fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  await post({ id: 1, address: { street: "Mill lane" } });
  await expect(page.getByRole("table", { name: "Events" })).toContainText("Order 1");

  // A workflow on the source, made at its page.
  await enter(page, page.getByRole("link", { name: "New workflow" }));
  await reach(page, page.getByLabel("Name"));
  await press(page, "ControlOrMeta+a");
  await page.keyboard.type("Labels by hand");
  await enter(page, button(page, "Create workflow"));
  const editor = page.getByRole("textbox", { name: "Code of code" });
  await code(page, editor, label("order.address.street"));
  await press(page, "ControlOrMeta+Enter");
  const exports = page.getByRole("tree", { name: "Exports of code" });
  await expect(exports).toContainText("Mill lane");
  await press(page, "ControlOrMeta+Shift+d");
  await expect(page.getByRole("dialog", { name: "Deploy", exact: true })).toBeVisible();
  await press(page, "ControlOrMeta+Enter");
  await expect(page.getByText("v1 live")).toBeVisible();
  const id = new URL(page.url()).pathname.split("/")[2] ?? "";

  // Two orders without an address: the error, its run, and its event in the editor.
  const runs = (status: string) => server.call<{ kind: string }[]>("GET", `/workflows/${id}/runs?status=${status}&include=kind`);
  // One after the other: the newest error is of the second.
  for (const order of [2, 3]) {
    await post({ id: order });
    await expect.poll(async () => (await runs("failed")).length).toBe(order - 1);
  }
  // What stands behind the editor is there or not yet: a field may be next, where keys are text.
  await press(page, "Escape");
  await reach(page, button(page, "Deploy…"));
  await press(page, "g", "e");
  await expect(page.getByRole("heading", { name: "Errors", exact: true })).toBeVisible();
  await press(page, "/");
  await page.keyboard.type("street");
  await press(page, "Escape");
  // Read after both failed: the newest run is the second one.
  await expect(page.getByRole("button", { name: "Replay all 2…" })).toBeVisible();
  await enter(page, page.getByRole("link", { name: "Newest run" }));
  await expect(page.getByRole("tabpanel", { name: "Error" })).toContainText("Cannot read properties of undefined");
  await press(page, "e");
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("id: 3");

  // The mend, its test, the deploy with a message, and what failed is finished.
  await code(page, editor, label("order.address?.street ?? 'to be asked for'"));
  await press(page, "ControlOrMeta+Enter");
  await expect(exports).toContainText("to be asked for");
  await press(page, "ControlOrMeta+Shift+d");
  await expect(page.getByRole("figure", { name: "Changes in code" })).toContainText("to be asked for");
  await reach(page, page.getByLabel("Message"));
  await page.keyboard.type("Orders without an address");
  await press(page, "ControlOrMeta+Enter");
  await expect(page.getByText("v2 live")).toBeVisible();
  const finish = page.getByRole("button", { name: "Finish 2 failed runs…" });
  await expect(finish).toBeVisible();
  await press(page, "F6");
  await enter(page, finish);
  const dialog = page.getByRole("dialog", { name: "Replay 2 runs" });
  await enter(page, dialog.getByRole("button", { name: /^Replay/ }));
  // The address comes before the page: until that is there, the keys are the dialog's.
  await expect(page.getByRole("table", { name: "Runs of the replay" })).toBeVisible();
  await expect.poll(async () => (await runs("succeeded")).filter(({ kind }) => kind !== "test").length).toBe(2);

  // And back to the first version.
  await press(page, "g", "w");
  await expect(page.getByRole("heading", { name: "Workflows", exact: true })).toBeVisible();
  await enter(page, page.getByRole("link", { name: "Labels by hand" }));
  await enter(page, page.getByRole("link", { name: "Versions" }));
  await enter(page, button(page, "Roll back to v1…"));
  await expect(page.getByRole("dialog", { name: "Roll back to v1?" })).toBeVisible();
  await press(page, "ControlOrMeta+Enter");
  await expect(page.getByText("v3 live")).toBeVisible();
  await expect(page.getByRole("table", { name: "Versions" })).toContainText("Orders without an address");
  expect(messages, "messages on the console").toEqual([]);
  await context.close();
  await server.stop();
});
