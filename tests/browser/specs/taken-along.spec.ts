// What is taken to other places: an error for an issue, an act as a command, the path of a value for jq.
import { expect, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("an error is copied for an issue without secrets, a page as a command, and a value's path for jq", async ({ page, context, server }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const copied = () => page.evaluate(() => navigator.clipboard.readText());
  const made = await workflow(server, "Labels", { print: step(`throw new RangeError("weight of 0 g");`) });
  const run = await send(server, made, { lines: [{ "shelf no": 7 }], token: "hunter2hunter2" });

  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Copy for an issue" }).click();
  await expect(page.getByText("Copied as Markdown")).toBeVisible();
  const issue = await copied();
  expect(issue).toContain("## RangeError: weight of 0 g");
  expect(issue).toContain(`[\`${run}\`](${page.url()}?org=`);
  expect(issue).toContain("- Step: `print`");
  expect(issue).toContain('"token": "(masked)"');
  expect(issue).not.toContain("hunter2hunter2");

  await page.getByRole("button", { name: "As command" }).click();
  const dialog = page.getByRole("dialog", { name: "As command" });
  await expect(dialog).toContainText(run);
  await dialog.getByRole("button", { name: "Copy curl" }).first().click();
  const command = await copied();
  expect(command).toContain(`/v1/runs/${run}`);
  expect(command).toContain("MILLRACE_API_KEY");
  expect(command).not.toContain(server.key);
  await page.keyboard.press("Escape");

  await page.goto(`/runs/${run}?step=%24trigger`);
  const tree = page.getByRole("tree").first();
  await tree.getByRole("treeitem", { name: /shelf no/ }).click();
  await page.getByRole("button", { name: "More copy options" }).click();
  await page.getByRole("menuitem", { name: "Copy the path for jq" }).click();
  await expect.poll(copied).toContain('.lines[0]["shelf no"]');
});
