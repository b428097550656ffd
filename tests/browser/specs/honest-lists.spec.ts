// Lists of more than one page: what is counted, chosen and searched is all of it, or the page says that it is a part.
import type { Page } from "@playwright/test";
import type { Server } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { type Made, send, step, workflow } from "../fixtures/workflows.ts";

/** One more than the API has on a page. */
const MANY = 101;

/** Sends many events, some at a time, and waits until as many runs have this status. */
async function flood(server: Server, made: Made, status: string, bodyOf: (n: number) => object): Promise<void> {
  const post = (n: number) => fetch(made.endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(bodyOf(n)) });
  await inTurn(MANY, post);
  const ended = () => server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=${status}&include=id&limit=100`);
  await expect.poll(async () => (await ended()).length, { timeout: 120_000 }).toBe(100);
  await expect.poll(async () => (await server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=queued,running&include=id`)).length, { timeout: 120_000 }).toBe(0);
}

async function inTurn(n: number, act: (n: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const work = async () => {
    while (next < n) await act(next++);
  };
  await Promise.all(Array.from({ length: 6 }, work));
}

const rowsOf = (page: Page, table: string) => page.getByRole("table", { name: table, exact: true }).getByRole("row").and(page.locator("tr:not(.is-mark, .is-head)"));

test("errors beyond the newest hundred groups are counted, and a replay of more than a hundred runs shows all of them", async ({ page, server }) => {
  const early = await workflow(server, "Early parcels", { one: step(`throw new RangeError("early")`) });
  await send(server, early, {});
  // Its name is within the other one's.
  const other = await workflow(server, "Early parcels abroad", { one: step(`throw new SyntaxError("abroad")`) });
  await send(server, other, {});
  const many = await workflow(server, "Parcel flood", { one: step(`const { n } = steps.trigger.event.body; const error = new Error("no shelf " + n); error.name = "Shelf" + n + "Error"; throw error;`) });
  await flood(server, many, "failed", (n) => ({ n }));

  await page.goto("/workflows?q=parcel");
  const row = (name: string) => rowsOf(page, "Workflows").filter({ has: page.getByRole("link", { name, exact: true }) });
  await expect(row("Parcel flood")).toContainText(`${MANY} errors`);
  await expect(row("Early parcels")).toContainText("1 error");
  await expect(row("Early parcels abroad")).toContainText("1 error");

  // The errors of one are those of no other one with its name in theirs.
  await row("Early parcels").getByRole("link", { name: "1 error" }).click();
  await expect(page).toHaveURL(`/errors?owner=${early.id}`);
  await expect(rowsOf(page, "Errors")).toHaveCount(1);
  await expect(rowsOf(page, "Errors")).toContainText("RangeError");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Clear filter Workflow or source" }).click();
  await expect(page).toHaveURL("/errors");
  await page.goto(`/workflows/${early.id}/errors`);
  await expect(page).toHaveURL(`/errors?owner=${early.id}`);
  await expect(page.getByText("1 group, 1 error")).toBeVisible();
  await page.goto(`/workflows/${many.id}/edit`);
  await expect(page.getByRole("navigation", { name: "Parts of the workflow" }).getByRole("link", { name: `Errors ${MANY}` })).toBeVisible();

  const replay = await server.call<{ id: string }>("POST", "/replays", { filter: { owner_id: many.id, status: "failed" } });
  type Replay = { status: string; replayed: number; runs: { unfinished: number } };
  const state = () => server.call<Replay>("GET", `/replays/${replay.id}`);
  await expect.poll(async () => { const { status, runs } = await state(); return status === "done" && runs.unfinished === 0; }, { timeout: 120_000 }).toBe(true);
  expect((await state()).replayed).toBe(MANY);
  await page.goto(`/replays/${replay.id}`);
  await expect(page.getByText(`100 of ${MANY}`, { exact: true })).toBeVisible();
  await expect(rowsOf(page, "Runs of the replay")).toHaveCount(100);
  await page.getByRole("button", { name: "Show more" }).click();
  await expect(rowsOf(page, "Runs of the replay")).toHaveCount(MANY);
  await expect(page.getByText(`100 of ${MANY}`, { exact: true })).toHaveCount(0);
  await expect(rowsOf(page, "Runs of the replay").last()).toContainText("Parcel flood");
  await expectAccessible(page);
});

test("a replay whose runs cannot be read says so, and does not show none", async ({ page, server, messages }) => {
  const made = await workflow(server, "Unread", { one: step(`throw new Error("no")`) });
  await send(server, made, {});
  const replay = await server.call<{ id: string }>("POST", "/replays", { filter: { owner_id: made.id } });
  const address = /\/v1\/replays\/[^/]+\/runs/;
  await page.route(address, (route) => route.fulfill({ status: 500, json: { error: "the disk is full", code: "internal" } }));
  await page.goto(`/replays/${replay.id}`);
  await expect(page.getByText("The runs could not be loaded")).toBeVisible();
  await expect(page.getByRole("table")).toHaveCount(0);
  await page.unroute(address);
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(rowsOf(page, "Runs of the replay")).toHaveCount(1);
  expect(messages.splice(0).filter((message) => !/status of 500/.test(message))).toEqual([]);
});

test("webhooks and actions beyond the first hundred are chosen by their names", async ({ page, server }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Heard", component_code: `export default { name: "Heard", version: "1", props: { http: "$.interface.http" }, run() { this.$emit({ n: 1 }); } };` });
  const made: string[] = [];
  await inTurn(MANY, async (n) => { made.push((await server.call<{ id: string }>("POST", "/webhooks", { name: `Hook ${String(n).padStart(3, "0")}`, url: `https://hook.example/${n}` })).id); });
  const listed = new Set<string>();
  for (const { id } of await server.call<{ id: string }[]>("GET", "/webhooks?limit=100&include=id")) listed.add(id);
  const beyond = made.find((id) => !listed.has(id)) ?? "";
  const { name } = await server.call<{ name: string }>("GET", `/webhooks/${beyond}`);
  await server.call("POST", `/subscriptions?emitter_id=${source.id}&listener_id=${beyond}`);
  await page.goto("/listeners");
  await expect(rowsOf(page, "Listeners").filter({ hasText: name })).toContainText("Heard");
  await page.getByRole("button", { name: "New listener" }).click();
  const dialog = page.getByRole("dialog", { name: "New listener" });
  await dialog.getByRole("combobox", { name: "Listener" }).fill(name);
  await page.getByRole("option", { name }).click();
  await expect(dialog.getByRole("combobox", { name: "Listener" })).toHaveValue(name);

  await inTurn(MANY, (n) => {
    const component_code = `export default { key: "acts-${n}", name: "Acts ${n}", version: "0.0.1", type: "action", props: {}, run() { return ${n}; } };`;
    return server.call("POST", "/components", { component_code, publish: true });
  });
  const acting = await workflow(server, "Acting", { one: step("return 1;") });
  await page.goto(`/workflows/${acting.id}/edit`);
  await page.getByRole("button", { name: "Add a step" }).last().click();
  const steps = page.getByRole("dialog", { name: "Add a step" });
  await expect(steps.getByRole("button", { name: /^Acts \d/ })).toHaveCount(MANY);
  // Of a search the best are shown, and the line below says that they are not all.
  await steps.getByRole("searchbox").fill("acts");
  await expect(steps.getByText("The 30 best matches. Type more to narrow the search.")).toBeVisible();
  await expect(steps.getByText("30 found")).toHaveCount(0);
});

test("Home and a run say so where they looked at a part of the runs", async ({ page, server }) => {
  const made = await workflow(server, "Holds", { wait: step("$.flow.suspend(3_600_000);") });
  await flood(server, made, "paused", (n) => ({ n }));
  await page.goto("/");
  await expect(page.getByText(/^(Needs attention:)?.*\b100 runs or more are waiting for a person/)).toBeVisible();
  await expect(page.getByRole("region", { name: "Key figures" })).toContainText("100 or more waiting for a person");

  const emits = await workflow(server, "Emits many", { one: step(`for (let n = 0; n < ${MANY}; n += 1) $.send.emit({ raw_event: { n } });`) });
  const listener = await workflow(server, "Listens to many", { one: step("return 1;") });
  for (const { id } of [emits, listener]) await server.call("POST", `/workflows/${id}/deploy`, {});
  await server.call("POST", `/subscriptions?emitter_id=${emits.id}&listener_id=${listener.id}`);
  const run = await send(server, emits, {});
  await expect.poll(async () => (await server.call<unknown[]>("GET", `/workflows/${listener.id}/runs?status=succeeded&include=id&limit=100`)).length, { timeout: 120_000 }).toBe(100);
  await page.goto(`/runs/${run}`);
  await expect(page.getByRole("link", { name: `and ${MANY - 3} more` })).toBeVisible();
});

test("any two versions are compared, however many there are", async ({ page, server }) => {
  const made = await workflow(server, "Often", { one: step("return 0;") });
  type Deployed = { id: string };
  const { id: first } = await server.call<Deployed>("POST", `/workflows/${made.id}/deploy`, { message: "The first of all" });
  for (let n = 1; n <= 51; n += 1) {
    await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step(`return ${n};`) }] });
    await server.call("POST", `/workflows/${made.id}/deploy`, {});
  }
  // It is on the second page of the list.
  await page.goto(`/workflows/${made.id}/versions?compare=${first}`);
  const dialog = page.getByRole("dialog", { name: /^v\d+ against v\d+$/ });
  await expect(dialog).toBeVisible();
  await dialog.getByRole("combobox", { name: "After" }).click();
  await expect(page.getByRole("option", { name: /The first of all/ })).toBeVisible();
  expect(await page.getByRole("option").count()).toBeGreaterThan(50);
});

test("an event to test with is found among all runs and all events of each source", async ({ page, server }) => {
  const sourceOf = (name: string) =>
    server.call<{ id: string; configured_props: { http: { endpoint_url: string } } }>("POST", "/sources", { name, component_code: `export default { name: "${name}", version: "1", props: { http: "$.interface.http" }, run({ body }) { this.$emit(body, { summary: "${name} " + body.n }); } };` });
  const [east, west] = [await sourceOf("East quay"), await sourceOf("West quay")];
  const made = await server.call<{ id: string }>("POST", "/workflows", { name: "Quays", triggers: [{ type: "source", id: east.id }, { type: "source", id: west.id }], steps: [{ namespace: "one", code: step("return steps.trigger.event.n;") }] });
  await server.call("POST", `/workflows/${made.id}/deploy`, {});
  for (let n = 0; n < 12; n += 1) {
    for (const { configured_props: { http } } of [east, west]) await fetch(http.endpoint_url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ n }) });
  }
  await expect.poll(async () => (await server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=succeeded&include=id&limit=100`)).length).toBe(24);

  await page.goto(`/workflows/${made.id}/edit`);
  const pick = page.locator(".event-pick");
  await expect(pick).not.toHaveText("Loading the event…");
  await pick.click();
  // Each source by its name.
  await expect(page.getByText("Events of East quay", { exact: true })).toBeVisible();
  await expect(page.getByText("Events of West quay", { exact: true })).toBeVisible();
  await page.getByRole("menuitem", { name: "All events of West quay…" }).click();
  const dialog = page.getByRole("dialog", { name: "Choose an event" });
  await expect(dialog.getByRole("list", { name: "Events" }).getByRole("button")).toHaveCount(12);
  await expectAccessible(page);
  await dialog.getByRole("searchbox").fill("West quay 0");
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("list", { name: "Events" }).getByRole("button")).toHaveCount(1);
  await dialog.getByRole("button", { name: /West quay 0/ }).click();
  await expect(dialog).toHaveCount(0);
  await expect(pick).toHaveText("West quay 0");

  await pick.click();
  await page.getByRole("menuitem", { name: "All runs…" }).click();
  await expect(dialog.getByRole("list", { name: "Runs" }).getByRole("button")).toHaveCount(24);
  await dialog.getByRole("list", { name: "Runs" }).getByRole("button").last().click();
  await expect(dialog).toHaveCount(0);
  await expect(page).toHaveURL(/run=run_/);
});
