// Many runs at once: filters that the address keeps, selection, and what is done to all of them.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("runs are filtered by chips, and those chosen are replayed or cancelled with their number said first", async ({ page }) => {
  // Of its own: what is done to all that match would reach runs of other tests, and theirs would be counted.
  const server = await startServer();
  await page.context().setExtraHTTPHeaders({ authorization: `Bearer ${server.key}` });
  const labels = await workflow(server, "Parcel labels", { street: step("if (!steps.trigger.event.body.street) throw new RangeError('no street'); return 1;") });
  const guard = await workflow(server, "Parcel guard", { wait: step("$.flow.suspend(3_600_000);") });
  for (const street of ["Mill lane", "", "", ""]) await send(server, labels, { street });
  for (const n of [1, 2]) await send(server, guard, { n });

  await page.goto(`${server.url}/runs`);
  const table = page.getByRole("table", { name: "Runs" });
  // A deployment has a line between the runs.
  const rows = table.getByRole("row").filter({ hasText: "Parcel" }).and(page.locator("tr:not(.is-mark)"));
  await expect(rows).toHaveCount(6);
  const add = async (name: string) => {
    await page.getByRole("button", { name: "Filter", exact: true }).click();
    await page.getByRole("menuitem", { name, exact: true }).click();
  };
  await add("Status");
  await expect(page).toHaveURL(/status=failed/);
  await expect(rows).toHaveCount(3);
  await page.getByRole("button", { name: "Status: failed" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Paused" }).click();
  await page.keyboard.press("Escape");
  await expect(rows).toHaveCount(5);
  await add("Time");
  await add("Error");
  await page.getByLabel("Error class").fill("RangeError");
  await page.keyboard.press("Enter");
  await expect(rows).toHaveCount(3);
  await expectAccessible(page);
  // What is filtered is in the address.
  await page.reload();
  await expect(page.getByRole("button", { name: "Time: last 24 h" })).toBeVisible();
  await expect(rows).toHaveCount(3);
  await page.getByRole("button", { name: "Clear filter Error" }).click();
  await expect(rows).toHaveCount(5);

  // Two of those that are shown, by the keys.
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("Shift+X");
  const bar = page.getByRole("region", { name: "Selection" });
  await expect(bar).toContainText("2 selected");
  await expectAccessible(page);
  await page.keyboard.press("c");
  await expect(page.getByRole("dialog", { name: "Cancel 2 runs?" })).toContainText("2 runs that you selected wait, queued or paused");
  await page.getByRole("button", { name: "Keep running" }).click();
  await page.keyboard.press("Escape");
  await expect(bar).toHaveCount(0);

  // All that match, counted by the server.
  await page.getByRole("checkbox", { name: "Select all shown" }).click();
  await expect(bar).toContainText("5 selected");
  await page.keyboard.press("Shift+A");
  await expect(bar).toContainText("All 5 selected");
  await bar.getByRole("button", { name: "Cancel…" }).click();
  await page.getByRole("button", { name: "Cancel 2 runs" }).click();
  await expect(page.getByText("2 runs cancelled")).toBeVisible();
  // They stay while a row is under the keys, and leave with what is new.
  await expect(async () => {
    await page.keyboard.press(".");
    await expect(rows).toHaveCount(3, { timeout: 500 });
  }).toPass();
  const cancelled = () => server.call<unknown[]>("GET", `/workflows/${guard.id}/runs?status=cancelled&include=id`);
  expect(await cancelled()).toHaveLength(2);

  await server.call("PUT", `/workflows/${labels.id}`, { steps: [{ namespace: "street", code: step("return 'mended';") }] });
  await server.call("POST", `/workflows/${labels.id}/deploy`, {});
  await page.getByRole("checkbox", { name: "Select all shown" }).click();
  await page.keyboard.press("Shift+A");
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Replay up to 3 runs" });
  await expect(dialog.getByRole("radio", { name: /^From the failed step/ })).toBeChecked();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Replay up to 3 runs" }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
  const mended = () => server.call<unknown[]>("GET", `/workflows/${labels.id}/runs?status=succeeded&include=id`);
  await expect.poll(async () => (await mended()).length).toBe(4);
  // A page that is open asks on, and its console would say that nobody answers.
  await page.close();
  await server.stop();
});

test("runs of one workflow are replayed with one event in the place of their own", async ({ page, server }) => {
  const made = await workflow(server, "Addressed labels", { street: step("const { street } = steps.trigger.event.body; if (!street) throw new RangeError('no street'); return street;") });
  for (const street of ["", ""]) await send(server, made, { street });
  await page.goto(`/runs?owner=${made.id}&status=failed`);
  await expect(page.getByRole("table", { name: "Runs" })).toContainText("no street");
  await page.getByRole("checkbox", { name: "Select all shown" }).click();
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Replay 2 runs" });
  await dialog.getByRole("radio", { name: /^From the trigger/ }).click();
  await dialog.getByRole("radio", { name: /^One event for all/ }).click();
  const type = async (text: string) => {
    await dialog.getByRole("textbox", { name: "Event" }).focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text);
  };
  await type("{ body: 8 }");
  await expect(dialog.getByText('Line 1, column 3: text must be in quotes. Did you mean "body"?')).toBeVisible();
  await expectAccessible(page);
  await type('{ "body": { "street": "Harbour 9" } }');
  await dialog.getByRole("button", { name: "Replay 2 runs" }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
  type Run = { status: string; event_edited: boolean; event: unknown };
  const mended = () => server.call<Run[]>("GET", `/runs?owner_id=${made.id}&status=succeeded&include=status,event,event_edited`);
  const run = { status: "succeeded", event: { body: { street: "Harbour 9" } }, event_edited: true };
  await expect.poll(mended).toEqual([run, run]);
});
