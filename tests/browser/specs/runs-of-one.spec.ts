// Lists of runs of one workflow, source or error: filters, selection and acts as in the list of all; and the keys of a run.
import type { Page } from "@playwright/test";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

const runsOf = (page: Page) => page.getByRole("table", { name: "Runs" }).getByRole("row").and(page.locator("tr:not(.is-mark, .is-head)"));

test("runs of one workflow are searched, filtered by any status and time, chosen by keys, cancelled and replayed", async ({ page, server }) => {
  const made = await workflow(server, "Quay crane", { one: step("const { n } = steps.trigger.event.body; if (n === 0) throw new RangeError('no crate'); if (n < 3) $.flow.suspend(3_600_000); return 1;") });
  const other = await workflow(server, "Quay crane abroad", { one: step("throw new RangeError('no crate');") });
  for (const n of [0, 1, 2, 3, 0]) await send(server, made, { n });
  await send(server, other, {});
  await page.goto(`/workflows/${made.id}/runs`);
  await expect(runsOf(page)).toHaveCount(5);
  await expect(page.getByText("Showing 5 of 5 runs of this workflow", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  // It is of one already.
  await expect(page.getByRole("menuitem", { name: "Workflow or source" })).toHaveCount(0);
  await page.getByRole("menuitem", { name: "Status" }).click();
  await page.getByRole("button", { name: "Status: failed" }).click();
  await page.getByRole("menuitemcheckbox", { name: "Paused" }).click();
  await page.keyboard.press("Escape");
  await expect(runsOf(page)).toHaveCount(4);
  await expect(page).toHaveURL(/status=failed%2Cpaused/);
  await expectAccessible(page);

  await page.keyboard.press("Shift+A");
  const bar = page.getByRole("region", { name: "Selection" });
  await expect(bar).toContainText("All 4 selected");
  await page.keyboard.press("c");
  await page.getByRole("button", { name: "Cancel 2 runs" }).click();
  await expect(page.getByText("2 runs cancelled")).toBeVisible();
  const cancelled = () => server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=cancelled&include=id`);
  expect(await cancelled()).toHaveLength(2);

  await page.goto(`/workflows/${made.id}/runs?status=cancelled`);
  await expect(runsOf(page)).toHaveCount(2);
  // A filter that leaves nothing counts those of the workflow alone.
  await page.goto(`/workflows/${made.id}/runs?status=running`);
  await expect(page.getByText("None of 5 runs match.")).toBeVisible();

  await page.goto(`/workflows/${made.id}/runs?status=failed`);
  await expect(runsOf(page)).toHaveCount(2);
  await page.keyboard.press("Shift+A");
  await page.keyboard.press("r");
  const dialog = page.getByRole("dialog", { name: "Replay up to 2 runs" });
  await dialog.getByRole("button", { name: "Replay up to 2 runs" }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
  const failed = (id: string) => server.call<unknown[]>("GET", `/workflows/${id}/runs?status=failed&include=id`);
  await expect.poll(async () => (await failed(made.id)).length).toBe(4);
  // Those of the other one are left alone, which failed alike.
  expect(await failed(other.id)).toHaveLength(1);
});

test("runs of an error are counted, chosen and replayed", async ({ page, server }) => {
  const made = await workflow(server, "Counting crates", { one: step("throw new RangeError('no crate');") });
  for (let n = 0; n < 3; n += 1) await send(server, made, {});
  const [group] = await server.call<{ id: string }[]>("GET", `/workflows/${made.id}/error_groups`);
  await page.goto(`/errors/${group?.id}`);
  await expect(page.getByText("Showing 3 of 3 runs of this error")).toBeVisible();
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("1 selected");
  await expectAccessible(page);
  await page.getByRole("checkbox", { name: "Select all shown" }).click();
  await page.getByRole("button", { name: "Replay 3 runs…" }).click();
  await page.getByRole("dialog", { name: "Replay 3 runs" }).getByRole("button", { name: "Replay 3 runs" }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
});

test("runs of a source have the same bars", async ({ page, server }) => {
  const source = await server.call<{ id: string; configured_props: { http: { endpoint_url: string } } }>("POST", "/sources", { name: "Quay bell", component_code: `export default { name: "Quay bell", version: "1", props: { http: "$.interface.http" }, run() { this.$emit({ n: 1 }); } };` });
  await fetch(source.configured_props.http.endpoint_url, { method: "POST", body: "{}" });
  await page.goto(`/sources/${source.id}/runs`);
  await expect(page.getByText(/^Showing (\d) of \1 runs? of this source$/)).toBeVisible();
  await page.getByRole("checkbox", { name: /^Select run_/ }).first().click();
  await expect(page.getByRole("region", { name: "Selection" })).toContainText("1 selected");
});

test("runs between two times of the address are listed, and other times are chosen in a dialog", async ({ page, server }) => {
  const made = await workflow(server, "Between", { one: step("return 1;") });
  const early = await send(server, made, {});
  const late = await send(server, made, {});
  const at = async (run: string) => (await server.call<{ created_at_ms: number }>("GET", `/runs/${run}?include=created_at_ms`)).created_at_ms;
  const [first, second] = [await at(early), await at(late)];
  const link = (run: string) => runsOf(page).locator(`a[href="/runs/${run}"]`);
  await page.goto(`/runs?owner=${made.id}&from=${first}&to=${second}`);
  await expect(link(early)).toHaveCount(1);
  await expect(link(late)).toHaveCount(0);
  await page.goto(`/runs?owner=${made.id}&from=${new Date(second).toISOString()}`);
  await expect(link(late)).toHaveCount(1);
  await expect(link(early)).toHaveCount(0);
  await expectAccessible(page);
  await page.getByRole("button", { name: /^Date range: from \d/ }).click();
  const dialog = page.getByRole("dialog", { name: "Runs accepted between two times" });
  await expectAccessible(page);
  await dialog.getByLabel("From").fill("2001-01-01T00:00");
  await dialog.getByLabel("To").fill("2000-01-01T00:00");
  await expect(dialog.getByRole("button", { name: "Apply" })).toHaveAttribute("aria-disabled", "true");
  await dialog.getByLabel("To").fill("2002-01-01T00:00");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/from=2000-12-31T23%3A00%3A00.000Z&to=2001-12-31T23%3A00%3A00.000Z/);
  await expect(page.getByText(/^None of [\d,]+ runs? (or more )?match\.$/)).toBeVisible();
  // How far back goes in the place of two times.
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("menuitem", { name: "Time", exact: true }).click();
  await expect(page).not.toHaveURL(/from=/);
  await expect(link(early)).toHaveCount(1);
});

test("a filter by workflow or source is searched for, and applies when one is chosen", async ({ page, server }) => {
  const made = await workflow(server, "Searched crane", { one: step("return 1;") });
  await workflow(server, "A crane before it", { one: step("return 1;") });
  const run = await send(server, made, {});
  await page.goto("/runs");
  await page.getByRole("button", { name: "Filter", exact: true }).click();
  await page.getByRole("menuitem", { name: "Workflow or source" }).click();
  const dialog = page.getByRole("dialog", { name: "Runs of one workflow or source" });
  const field = dialog.getByRole("combobox", { name: "Workflow or source" });
  await expect(field).toBeFocused();
  // Nothing is chosen yet.
  await expect(page).toHaveURL("/runs");
  await expectAccessible(page);
  await field.pressSequentially("searched");
  await expect(page.getByRole("option")).toHaveCount(1);
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(`/runs?owner=${made.id}`);
  await expect(runsOf(page).locator(`a[href="/runs/${run}"]`)).toHaveCount(1);
  await page.getByRole("button", { name: "Workflow or source: Searched crane" }).click();
  await expect(field).toHaveValue("Searched crane");
});

test("the arrows go through the steps of a run from anywhere on its page", async ({ page, server }) => {
  const made = await workflow(server, "Stepped", { one: step("console.log('a'); return 1;"), two: step("return 2;") });
  const run = await send(server, made, {});
  await page.goto(`/runs/${run}`);
  const current = page.locator(".race-row[aria-current=step]");
  await expect(current).toContainText("two");
  await page.keyboard.press("ArrowUp");
  await expect(current).toContainText("one");
  await page.keyboard.press("ArrowDown");
  await expect(current).toContainText("two");
  // Beyond the last there is none.
  await page.keyboard.press("ArrowDown");
  await expect(current).toContainText("two");
  await page.keyboard.press("1");
  await expect(page.getByRole("tab").first()).toHaveAttribute("aria-selected", "true");
  // Among tabs the arrows are theirs.
  await page.getByRole("tab").first().focus();
  await page.keyboard.press("ArrowUp");
  await expect(current).toContainText("two");
  // A row that has the focus gives it to the next one.
  await current.focus();
  await page.keyboard.press("ArrowUp");
  await expect(current).toContainText("one");
  await expect(current).toBeFocused();
});
