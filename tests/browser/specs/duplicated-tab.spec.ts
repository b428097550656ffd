// A duplicate of a tab begins with a copy of its session storage, and keeps its own text all the same.
import { expect, test } from "../fixtures/test.ts";
import { step, workflow, write } from "../fixtures/workflows.ts";
import type { BrowserContext, Page } from "@playwright/test";

/** As "Duplicate tab" opens one: with what this tab has in its session storage. */
async function duplicate(page: Page, context: BrowserContext): Promise<Page> {
  const kept = await page.evaluate(() => ({ ...sessionStorage }));
  const other = await context.newPage();
  await other.addInitScript((entries) => {
    // Once: what a reload finds is the tab's own.
    if (sessionStorage.getItem("copied") !== null) return;
    for (const [key, value] of Object.entries(entries)) sessionStorage.setItem(key, value);
    sessionStorage.setItem("copied", "yes");
  }, kept);
  await other.goto(page.url());
  return other;
}

for (const [kind, hasLocks] of [["", true], [", on plain HTTP as well", false]] as const) {
  test(`a tab and its duplicate keep what is typed in the same field, each its own${kind}`, async ({ page, context }) => {
    if (!hasLocks) await context.addInitScript(() => Reflect.deleteProperty(Navigator.prototype, "locks"));
    const name = (of: Page) => of.getByLabel("Name");
    await page.goto("/workflows/new");
    await name(page).fill("typed in the first");
    const other = await duplicate(page, context);
    await expect(name(other)).toHaveValue("");
    await name(other).fill("typed in the duplicate");
    await name(page).fill("typed in the first, and on");
    await other.reload();
    await expect(name(other)).toHaveValue("typed in the duplicate");
    await page.reload();
    await expect(name(page)).toHaveValue("typed in the first, and on");
    await name(page).fill("");
    await name(other).fill("typed in the duplicate, last");
    await page.reload();
    await expect(name(page)).toHaveValue("");
    await other.reload();
    await expect(name(other)).toHaveValue("typed in the duplicate, last");

    // What a closed tab left is taken over by the next one that opens the form.
    await other.close();
    const next = await context.newPage();
    await next.goto("/workflows/new");
    await expect(name(next)).toHaveValue("typed in the duplicate, last");
    await next.close();
  });
}

test("a draft in the builder and in a duplicate of its tab: both texts are there while the server is away", async ({ page, context, server, messages }) => {
  const made = await workflow(server, "Duplicated", { one: step("return 1;") });
  const editor = (of: Page) => of.getByRole("textbox", { name: "Code of one" });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor(page)).toContainText("return 1");
  const other = await duplicate(page, context);
  await expect(editor(other)).toContainText("return 1");
  await server.kill();
  await write(page, "one", step("return 'of the first';"));
  await write(other, "one", step("return 'of the duplicate';"));
  for (const each of [page, other]) await expect(each.getByText("Not saved: no connection")).toBeVisible();
  // Each keeps its text a moment after the last key.
  const kept = () => page.evaluate(() => Object.entries({ ...localStorage }).filter(([key]) => key.includes("workflow.p_")).map(([, text]) => text).join());
  await expect.poll(kept).toContain("of the first");
  await expect.poll(kept).toContain("of the duplicate");
  await other.close();
  await server.start();
  await page.reload();
  await expect(editor(page)).toContainText("of the first");
  expect(await kept()).toContain("of the duplicate");
  expect(messages.splice(0).filter((message) => !/ERR_|Failed to fetch|status of (412|5)/.test(message))).toEqual([]);
});
