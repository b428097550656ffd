// Notes of steps, notes and tags of workflows, and a paused run that is let go on.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("a step has a note that is part of the version, and a workflow a note and tags by which it is found", async ({ page, server }) => {
  const made = await workflow(server, "Noted", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit?step=one`);
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByLabel("Note").fill("Asks the bank once for each order.");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Trigger and steps" })).toContainText("Asks the bank once");
  await expectAccessible(page);
  await page.keyboard.press("ControlOrMeta+Shift+d");
  await expect(page.getByRole("list", { name: "Changes", exact: true })).toContainText("one: note added");
  await page.keyboard.press("Escape");
  await page.reload();
  await page.getByRole("tab", { name: "Settings" }).click();
  await expect(page.getByLabel("Note")).toHaveValue("Asks the bank once for each order.");

  await page.getByRole("navigation", { name: "Parts of the workflow" }).getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Tags").fill("shop, orders of the north, shop");
  await page.getByLabel("Note").fill("Asks Mara before it is changed.");
  await page.getByRole("button", { name: "Save settings" }).click();
  await expect(page.getByLabel("Tags")).toHaveValue("shop, orders of the north");
  await expect(page.getByRole("button", { name: "Note: Asks Mara before it is changed." })).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("link", { name: "orders of the north" }).click();
  await expect(page).toHaveURL(/tag=orders/);
  const rows = page.getByRole("table", { name: "Workflows" }).getByRole("row");
  await expect(rows).toHaveCount(2);
  await expect(rows.last()).toContainText("Noted");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Clear filter Tag" }).click();
  await expect(page).not.toHaveURL(/tag=/);
});

test("a paused run is resumed with data that its code finds", async ({ page, server }) => {
  const made = await workflow(server, "Waits", { ask: step("$.flow.suspend(3_600_000); return 1;"), tell: step("return { said: steps.ask.$resume_data?.body?.said };") });
  const run = await send(server, made, {});
  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Resume…" }).click();
  const dialog = page.getByRole("dialog", { name: "Resume the run?" });
  await dialog.getByRole("textbox", { name: "Data for the step" }).focus();
  await page.keyboard.insertText('{ "said": "yes" }');
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Resume", exact: true }).click();
  await expect(dialog).toHaveCount(0);
  await expect(page.getByRole("tree", { name: "Exports of tell" })).toContainText("yes");
});
