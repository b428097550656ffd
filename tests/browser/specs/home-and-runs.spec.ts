// What runs, of all owners: Home and the list.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import type { Page } from "@playwright/test";

const code = (body: string) =>
  `export default { name: "x", version: "1", async run(event) { ${body} } };`;

test("Home and Runs show what runs of all owners did", async ({ page, server }) => {
  const source = (name: string, body: string) =>
    server.call<{ id: string }>("POST", "/sources", { name, component_code: code(body) });
  const good = await source("Changelogs", `this.$emit({ n: 1 }, { summary: "one" });`);
  const bad = await source("Stock", `throw new RangeError("no such shelf");`);
  for (const { id } of [good, bad]) {
    await server.call("POST", `/sources/${id}/run`, { event: {} });
  }

  const stream = page.waitForResponse(/\/v1\/stream\?topics=runs/);
  await page.goto("/");
  expect((await stream).headers()["content-type"]).toContain("text/event-stream");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  const lately = page.getByRole("list", { name: "Recent runs" });
  await expect(lately.getByRole("link", { name: "RangeError no such shelf" })).toBeVisible();
  await expect(lately.getByText("Changelogs").first()).toBeVisible();
  const attention = page.getByRole("complementary", { name: "What needs attention" });
  await expect(attention.getByRole("link", { name: "RangeError no such shelf" })).toBeVisible();
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/home.png` });

  await page.getByRole("link", { name: "All runs" }).click();
  const runs = page.getByRole("table", { name: "Runs" });
  // Beside runs the table has a row for each deployment, where runs of before it are shown too.
  const changelogs = runs.getByRole("row").filter({ hasText: "Changelogs" }).filter({ has: page.getByRole("link", { name: "ran" }) });
  await expect(changelogs.first()).toBeVisible();
  await expect(runs.getByRole("row").filter({ hasText: "Stock" }).first()).toBeVisible();
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/runs.png` });

  // What runs meanwhile comes by the stream; below the pointer it would wait.
  await page.mouse.move(0, 0);
  await server.call("POST", `/sources/${good.id}/run`, { event: {} });
  await expect(changelogs).toHaveCount(2, { timeout: 10_000 });

  // The words of a run are in the index a moment after it was accepted.
  await expect.poll(async () => (await server.call<unknown[]>("GET", "/runs?q=shelf")).length, { timeout: 60_000 }).toBeGreaterThan(0);
  const search = page.getByRole("searchbox", { name: "Search events, results, errors" });
  await search.fill("such shelf");
  await search.press("Enter");
  await expect(page).toHaveURL(/q=such(\+|%20)shelf/);
  await expect(runs.getByRole("row").filter({ hasText: "Stock" }).first()).toBeVisible();
  await expect(changelogs).toHaveCount(0);
  await search.fill("unheard");
  await search.press("Enter");
  await expect(page.getByText("No runs of all workflows and sources, with “unheard”.")).toBeVisible();
  await page.getByRole("button", { name: "Clear search" }).click();
  await expect(changelogs.first()).toBeVisible();

  // The view is in the address.
  await page.getByRole("button", { name: "Failed or paused" }).click();
  await expect(page).toHaveURL(/view=trouble/);
  await expect(changelogs).toHaveCount(0);
  await page.reload();
  await runs.getByRole("link", { name: "RangeError no such shelf" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
});

test("an empty Home has three doors; the first one ends at the run of a request", async ({ browser }) => {
  const server = await startServer();
  const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce" });
  const page = await context.newPage();
  await page.goto(server.url);
  await expect(page.getByRole("heading", { name: "Nothing is running yet. Send a first event." })).toBeVisible();
  const doors = page.getByRole("region", { name: "Three ways to start" });
  await expect(doors.getByRole("heading")).toHaveText(["Receive a request", "Deploy a component", "From your editor"]);
  await expect(doors).toContainText(`millrace login --url ${server.url}`);
  await expectAccessible(page);

  await doors.getByLabel("Search, or paste a key or a URL").fill("new rows");
  await doors.getByRole("button", { name: "Find" }).click();
  await expect(page.getByLabel("Search, or paste a key, a URL or code")).toHaveValue("new rows");
  await page.goBack();

  // An example is read and asked for what it needs.
  await doors.getByRole("button", { name: /^HTTP requests/ }).click();
  await expect(page.getByRole("button", { name: "Deploy source" })).toBeVisible();
  await page.goto(server.url);

  await doors.getByRole("button", { name: "Create workflow" }).click();
  await expect(doors).toContainText("Waiting for the first request");
  await expect(doors).toContainText("/e/");
  await doors.getByRole("button", { name: "Send a test request" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
  await expect(page.getByText("Received a request").first()).toBeVisible();
  await page.goto(server.url);
  await expect(page.getByRole("status").filter({ hasText: "All clear." })).toBeVisible();
  await expect(page.getByRole("link", { name: /^Flow .*none queued$/ })).toBeVisible();
  await expectAccessible(page);
  await context.close();
  await server.stop();
});

test("Home says what needs somebody, and what stands still goes on from there", async ({ page, server }) => {
  const asleep = await server.call<{ id: string }>("POST", "/sources", { name: "Nightly digest", component_code: code("") });
  await server.call("PUT", `/sources/${asleep.id}`, { active: false });
  const bad = await server.call<{ id: string }>("POST", "/sources", { name: "Shelves", component_code: code(`throw new RangeError("no shelf left");`) });
  await server.call("POST", `/sources/${bad.id}/run`, { event: {} });
  await page.goto("/");
  await expect(page.getByRole("status").filter({ hasText: "Needs attention:" })).toContainText("in the last hour");
  await expect(page.getByRole("figure", { name: /^Runs per minute, .* failed$/ })).toBeVisible();
  const still = page.getByRole("list", { name: "Inactive or blocked" }).getByRole("listitem").filter({ hasText: "Nightly digest" });
  await expect(still).toContainText("Switched off: it receives no events.");
  await expectAccessible(page);
  await still.getByRole("button", { name: "Activate" }).click();
  await expect(page.getByText("Nightly digest is active")).toBeVisible();
  await expect(still).toHaveCount(0);
  expect((await server.call<{ active: boolean }>("GET", `/sources/${asleep.id}`)).active).toBe(true);

  // What is looked back over is in the address.
  await page.getByRole("button", { name: "14 d" }).click();
  await expect(page).toHaveURL(/range=fortnight/);
  await expect(page.getByRole("figure", { name: /^Runs per 6 hours/ })).toBeVisible();
});

test("a secret that is set shows that it is, and is replaced by typing", async ({ page, server }) => {
  const secret = { type: "string", label: "Signing secret", secret: true, optional: true };
  const source = await server.call<{ id: string }>("POST", "/sources", {
    name: "Signed",
    component_code: `export default { name: "Signed", version: "1", props: { secret: ${JSON.stringify(secret)} }, run() { return this.secret.length; } };`,
    configured_props: { secret: "hunter2hunter2" },
  });
  await page.goto(`/sources/${source.id}/configure`);
  const field = page.getByRole("group").or(page.locator("main")).filter({ hasText: "Signing secret" }).first();
  await expect(field).toContainText("Set. It cannot be read back.");
  expect(await page.content()).not.toContain("hunter2");
  await page.getByRole("button", { name: "Replace…" }).click();
  await page.getByLabel("Signing secret").fill("a longer secret than before");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved", { exact: true }).first()).toBeVisible();
  const run = await server.call<{ return_value: number }>("POST", `/sources/${source.id}/run`, { event: {} });
  expect(run.return_value).toBe(27);
});

test("a page that cannot be read says why in its place, and the ways to other pages stay", async ({ page, server, messages }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Hard to read", component_code: code("") });
  const address = `**/v1/sources/${source.id}`;
  const json = { error: "the server failed", code: "internal" };
  await page.route(address, (route) => route.fulfill({ status: 500, json, headers: { "x-request-id": "req_4Tz81" } }));
  await page.goto(`/sources/${source.id}/configure`);
  const said = page.getByRole("main").getByRole("alert").filter({ hasText: "This page could not be loaded" });
  await expect(said).toContainText("req_4Tz81");
  await expect(page.getByRole("navigation", { name: "Main" })).toBeVisible();
  await expectAccessible(page);
  await page.unroute(address);
  await said.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByRole("heading", { name: "Hard to read" })).toBeVisible();

  // Whatever cannot be read, the way to its list is there, once.
  const way = page.getByRole("navigation", { name: "Breadcrumb" });
  for (const [gone, list] of [
    ["/sources/dc_000000", "Sources"],
    ["/workflows/p_000000/edit", "Workflows"],
    ["/runs/run_000000", "Runs"],
    ["/replays/rpl_000000", "Replays"],
    ["/errors/eg_000000", "Errors"],
    ["/components/sc_000000", "Components"],
    ["/accounts/apn_000000", "Accounts"],
    ["/apps/nowhere", "Apps"],
    ["/webhooks/wh_000000", "Webhooks"],
    ["/data/ds_000000", "Data"],
  ] as const) {
    await page.goto(gone);
    await expect(page.getByRole("main").getByRole("alert").first(), gone).toBeVisible();
    await expect(page.getByRole("heading", { level: 1 }), gone).toHaveCount(1);
    await expect(way.getByRole("link").last(), gone).toHaveText(list);
  }
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Home" }).click();
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  // The browser writes each refusal to its console; the router writes what a page failed with.
  expect(messages.splice(0).filter((message) => !/status of (404|500)|Error/.test(message))).toEqual([]);
});

test("a page whose data is long in coming says so, and is no empty page", async ({ page, server }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Slow to read", component_code: code("") });
  let answer: () => void = () => {};
  const asked = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route(`**/v1/sources/${source.id}`, async (route) => {
    await asked;
    await route.continue();
  });
  await page.goto(`/sources/${source.id}/configure`);
  await expect(page.getByText("Still waiting for the server")).toBeVisible();
  const way = page.getByRole("navigation", { name: "Breadcrumb" });
  await expect(way.getByRole("link", { name: "Sources" })).toBeVisible();
  answer();
  await expect(page.getByRole("heading", { name: "Slow to read" })).toBeVisible();
  await expect(page.getByText("Still waiting for the server")).toHaveCount(0);
});

test("'the seventh tab never loads': eight tabs are live by one stream, and another one takes over when its tab closes", async ({ page, context, server }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Many tabs", component_code: code(`this.$emit({ n: 1 }, { summary: "one" });`) });
  const streams = new Set<Page>();
  const tabs: Page[] = [];
  while (tabs.length < 8) {
    const tab = tabs.length === 0 ? page : await context.newPage();
    tab.on("request", (request) => {
      if (request.url().includes("/v1/stream")) streams.add(tab);
    });
    await tab.goto("/runs");
    await expect(tab.getByRole("heading", { name: "Runs", exact: true })).toBeVisible();
    tabs.push(tab);
  }
  expect(streams.size).toBe(1);
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });
  const row = (tab: Page) => tab.getByRole("table", { name: "Runs" }).getByRole("row").filter({ hasText: "Many tabs" });
  for (const tab of tabs) await expect(row(tab).first()).toBeVisible({ timeout: 30_000 });
  const before = await row(tabs[7] ?? page).count();
  await page.close();
  await expect.poll(() => streams.size).toBe(2);
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });
  await expect(row(tabs[7] ?? page)).toHaveCount(before + 1, { timeout: 30_000 });
});
