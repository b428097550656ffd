// Pinned results: what tests of the builder take in the place of running a step.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

test("a result is pinned, edited as JSON and taken off; tests take it as it is", async ({ page, server }) => {
  const made = await workflow(server, "Pins", {
    load: step(`return { street: "Mill lane", at: Date.now() };`),
    label: step(`return "to " + steps.load.$return_value.street;`),
  });
  await page.goto(`/workflows/${made.id}/edit?step=load`);
  const data = page.getByRole("complementary", { name: "Data" });
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(page.getByRole("tree", { name: "Exports of load" })).toContainText("Mill lane");
  await data.getByRole("button", { name: "Pin", exact: true }).click();
  const pinned = page.getByRole("tree", { name: "Pinned result of load" });
  await expect(pinned).toContainText("Mill lane");
  await expect(page.getByRole("navigation", { name: "Trigger and steps" }).getByRole("button", { name: /^load/ })).toContainText("pinned");
  await expectAccessible(page);

  await data.getByRole("button", { name: "Edit the pin…" }).click();
  const dialog = page.getByRole("dialog", { name: "Pinned result" });
  const type = async (text: string) => {
    await dialog.getByRole("textbox", { name: "Pinned result of load" }).focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text);
  };
  await type("[1]");
  await expect(dialog.getByText("A result is an object with what the step exports")).toBeVisible();
  await expectAccessible(page);
  await type('{ "$return_value": { "street": "Harbour 9" } }');
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(pinned).toContainText("Harbour 9");

  // The pin is there after a reload, and what the next step gets.
  await page.reload();
  await page.getByRole("button", { name: /^label/ }).click();
  await page.getByRole("button", { name: "Test to here" }).click();
  const exports = page.getByRole("tree", { name: "Exports of label" });
  await expect(exports).toContainText("to Harbour 9");
  await page.getByRole("button", { name: /^load/ }).click();
  await data.getByRole("button", { name: "Unpin" }).click();
  await expect(pinned).toHaveCount(0);
  await page.getByRole("button", { name: /^label/ }).click();
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(exports).toContainText("to Mill lane");
});
