import { expect, expectAccessible, test } from "../fixtures/test.ts";

test("every component of the library works under the policy, with Trusted Types", async ({ page }) => {
  await page.goto("/kit");
  await expect(page.getByRole("heading", { name: "Components and their states" })).toBeVisible();
  await expectAccessible(page);

  await page.getByRole("button", { name: "Menu", exact: true }).click();
  await expect(page.getByRole("menuitem", { name: "Replay…" })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  await page.getByRole("combobox", { name: "Fruit" }).click();
  await page.getByRole("option", { name: "Apple" }).click();
  await expect(page.getByRole("combobox", { name: "Fruit" })).toContainText("Apple");

  await page.getByRole("button", { name: "Dialog" }).click();
  await expect(page.getByRole("dialog", { name: "Replay run" })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(page.getByRole("button", { name: "Dialog" })).toBeFocused();

  await page.getByRole("button", { name: "Toast" }).click();
  await expect(page.getByText("Version 13 is live")).toBeVisible();
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("Undone")).toBeVisible();
});

test("a thing whose data is lost with it is deleted only after its name was typed", async ({ page }) => {
  await page.goto("/kit");
  await page.getByRole("button", { name: "Delete source…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("button", { name: "Delete source" })).toBeDisabled();
  await dialog.getByRole("textbox").fill("stripe-events");
  await dialog.getByRole("button", { name: "Delete source" }).click();
  await expect(dialog).toBeHidden();
});

test("the JSON tree is walked by keys, and its paths are copied", async ({ page, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  await page.goto("/kit");
  const tree = page.getByRole("tree", { name: "Event" });
  await tree.focus();
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await expect(tree.getByRole("treeitem", { selected: true })).toContainText("[0 … 99]");
  await page.keyboard.press("ArrowRight");
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("y");
  await expect(page.getByText("Path copied")).toBeVisible();
  expect(await page.evaluate(() => navigator.clipboard.readText())).toBe("steps.trigger.event.lines[0]");

  await page.keyboard.press("/");
  await page.keyboard.type("amount");
  await expect(page.getByText("1 of 1", { exact: true })).toBeVisible();
  await expect(tree.getByRole("treeitem", { selected: true })).toContainText("amount_total: 21400");
});
