// The page of an error group: counts by day and version, runs between deployments, recipients, note, replay of all runs.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

type Group = { id: string };

test("the page of a group shows versions, days, runs and recipients, keeps a note, and handles and replays its runs", async ({ browser, messages }) => {
  expect(messages).toEqual([]);
  const server = await startServer();
  const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", baseURL: server.url, viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const failing = `throw new RangeError("no such shelf");`;
  const made = await workflow(server, "Restock", { find: step(failing) });
  await send(server, made, { shelf: "A1" });
  await send(server, made, { shelf: "A2" });
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "find", code: step(`${failing} // still`) }] });
  await server.call("POST", `/workflows/${made.id}/deploy`, { message: "Tried to mend" });
  await send(server, made, { shelf: "A3" });
  await page.goto("/errors");
  await page.getByRole("link", { name: "Open the group" }).click();
  await expect(page).toHaveURL(/\/errors\/eg_/);
  await expect(page.getByRole("heading", { name: "RangeError" })).toBeVisible();

  await expect(page.getByRole("figure", { name: "3 errors in 14 days, 3 of them today" })).toBeVisible();
  const byDay = page.getByRole("table", { name: "Errors by day" }).getByRole("row");
  await expect(byDay.last()).toHaveText(/3.*v2, v1$/);
  const facts = page.locator(".group-facts");
  await expect(facts).toContainText(/v2\s*1/);
  await expect(facts).toContainText(/v1\s*2/);
  const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
  await expect(rows).toHaveText([/^Status/, /no such shelf/, /v2Tried to mend/, /no such shelf/, /no such shelf/, /v1deployed/]);
  await expect(page.getByText("no such shelf").first()).toBeVisible();
  await expectAccessible(page);

  const told = page.getByRole("region", { name: "Who is notified" });
  await expect(told).toContainText(/@.*by mail/);
  await expect(told).toContainText("No workflow or webhook listens to its errors.");
  await page.getByLabel("Note").fill("The shelf was sold.");
  await page.getByRole("button", { name: "Save note" }).click();
  await expect(page.getByRole("button", { name: "Save note" })).toHaveCount(0);
  await page.reload();
  await expect(page.getByLabel("Note")).toHaveValue("The shelf was sold.");

  // Two clicks make a workflow that gets them.
  await told.getByRole("button", { name: "Handle these with a workflow…" }).click();
  await page.getByRole("dialog", { name: "Handle errors with a workflow" }).getByRole("button", { name: "Create listener" }).click();
  await expect(page).toHaveURL(/\/workflows\/p_[^/]+\/edit/);
  await expect(page.getByRole("heading", { name: "Errors of Restock" })).toBeVisible();
  await page.goBack();
  await expect(told.getByRole("listitem").filter({ hasText: "Errors of Restock" })).toContainText("listens to errors of Restock");

  // Counted before anything runs: what succeeded or was replayed meanwhile is none of them.
  const group = /eg_[^/]+$/.exec(page.url())?.[0];
  await page.getByRole("button", { name: "Replay all 3…" }).click();
  const dialog = page.getByRole("dialog", { name: "Replay 3 runs" });
  await expect(dialog).toBeVisible();
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Resolve" }).click();
  await expect(page.getByRole("button", { name: "Reopen" })).toBeVisible();
  expect(await server.call<Group & { state: string }>("GET", `/error_groups/${group}`)).toMatchObject({ state: "resolved" });
  // The day after a deployment is one click from what it changed.
  await page.getByRole("link", { name: "View changes" }).click();
  await expect(page.getByRole("dialog", { name: "v1 against v2" }).getByRole("figure", { name: "Changes in find" })).toContainText("still");
  await context.close();
  await server.stop();
});

test("chosen runs of a group are replayed, by the keys and on a phone", async ({ page, server }) => {
  const made = await workflow(server, "Chosen shelves", { find: step(`throw new RangeError("no such aisle");`) });
  for (const shelf of ["A1", "A2", "A3"]) await send(server, made, { shelf });
  const [group] = await server.call<Group[]>("GET", `/workflows/${made.id}/error_groups`);
  const runs = page.getByRole("table", { name: "Runs" });
  const checks = runs.getByRole("checkbox", { name: /^Select run_/ });
  const bar = page.getByRole("region", { name: "Selection" });
  const replayed = async (begin: string, many: number) => {
    const dialog = page.getByRole("dialog", { name: begin });
    await dialog.getByRole("button", { name: begin }).click();
    await expect(page).toHaveURL(/\/replays\/rpl_/);
    await expect(page.getByRole("table", { name: "Runs of the replay" }).getByRole("row").filter({ hasText: "Failed" })).toHaveCount(many);
  };

  await page.goto(`/errors/${group?.id}`);
  await expect(checks).toHaveCount(3);
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await page.keyboard.press("j");
  await page.keyboard.press("x");
  await expect(bar).toContainText("2 selected");
  await expect(bar).toBeInViewport({ ratio: 1 });
  await expectAccessible(page);
  await page.keyboard.press("r");
  await replayed("Replay 2 runs", 2);

  await page.setViewportSize({ width: 380, height: 800 });
  await page.goto(`/errors/${group?.id}`);
  await expect(checks.first()).toBeHidden();
  await page.getByRole("button", { name: "Select", exact: true }).click();
  await checks.nth(0).click();
  await checks.nth(1).click();
  await checks.nth(2).click();
  await expect(bar).toContainText("3 selected");
  await expect(bar).toBeInViewport({ ratio: 1 });
  await expectAccessible(page);
  await bar.getByRole("button", { name: /^Select all/ }).click();
  await expect(bar).toContainText("All 5 selected");
  await bar.getByRole("button", { name: "Replay…" }).click();
  // Runs that are replays themselves are counted: they are listed, and chosen with the others.
  await replayed("Replay up to 5 runs", 5);
});

test("deployments lie between the rows of all runs and of a source's runs", async ({ page, server }) => {
  const code = (rows: number) => `export default { name: "Counted", version: "0.1.0", props: { http: "$.interface.http" }, run() { this.$emit({ rows: ${rows} }); } };`;
  const made = await server.call<{ id: string; configured_props: { http: { endpoint_url: string } } }>("POST", "/sources", { component_code: code(1), name: "Counted shelves" });
  const ask = async () => {
    const before = await server.call<{ id: string }[]>("GET", `/sources/${made.id}/runs?limit=100&include=id`);
    await fetch(made.configured_props.http.endpoint_url, { method: "POST", body: "x" });
    await expect.poll(async () => (await server.call<{ id: string }[]>("GET", `/sources/${made.id}/runs?limit=100&include=id`)).length).toBe(before.length + 1);
  };
  await ask();
  await server.call("PUT", `/sources/${made.id}`, { component_code: code(2), message: "Two rows now" });
  await page.goto(`/sources/${made.id}/runs`);
  const rows = page.getByRole("table", { name: "Runs" }).getByRole("row");
  await expect(rows.filter({ hasText: "v2Two rows now" })).toHaveCount(1);
  await expectAccessible(page);
  await page.goto(`/runs?owner=${made.id}`);
  await expect(rows.filter({ hasText: "Counted shelvesv2Two rows now" })).toHaveCount(1);
  await expectAccessible(page);
});
