// The tail of a source: two events compared, a workflow made of one; what caused a run, and what it caused.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step } from "../fixtures/workflows.ts";

type Made = { id: string; configured_props: { http: { endpoint_url: string } } };

const code = `export default { name: "Orders", version: "0.1.0", props: { http: "$.interface.http" }, run({ body }) { this.$emit(body, { summary: "order " + body.id }); } };`;

const post = (made: Made, body: object) => fetch(made.configured_props.http.endpoint_url, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

test("two events of a source are held against each other", async ({ page, server }) => {
  const made = await server.call<Made>("POST", "/sources", { component_code: code, name: "Compared orders" });
  await post(made, { id: 1, street: "Mill lane 3" });
  await post(made, { id: 2, street: "Harbour 9" });
  await page.goto(`/sources/${made.id}`);
  const rows = page.getByRole("table", { name: "Events" }).getByRole("row");
  await expect(rows).toHaveCount(3);
  await rows.filter({ hasText: "order 1" }).getByRole("button").click();
  const event = page.getByRole("region", { name: "Event", exact: true });
  await event.getByRole("button", { name: "Compare" }).click();
  await expect(event.getByText("Select the event to compare this one with.")).toBeVisible();
  await rows.filter({ hasText: "order 2" }).getByRole("button").click();
  const difference = event.getByRole("figure", { name: "Differences between the events" });
  await expect(difference.locator(".is-del")).toContainText(["\"id\": 1", "Mill lane 3"]);
  await expect(difference.locator(".is-add")).toContainText(["\"id\": 2", "Harbour 9"]);
  await expectAccessible(page);
  await event.getByRole("button", { name: "Stop comparing" }).click();
  await expect(event.getByRole("tree", { name: "Event" })).toContainText("Harbour 9");
});

test("a list says where events came faster than it could show them", async ({ page, server }) => {
  const many = `export default { name: "Many", version: "0.1.0", props: { http: "$.interface.http" }, run() { for (let n = 0; n < 200; n += 1) this.$emit({ n }, { summary: "event " + n }); } };`;
  const made = await server.call<Made>("POST", "/sources", { component_code: many, name: "Many at once" });
  await server.call("POST", `/sources/${made.id}/events`, { event: { first: true }, summary: "the first" });
  await page.goto(`/sources/${made.id}`);
  await expect(page.getByRole("table", { name: "Events" }).getByRole("row").filter({ hasText: "the first" })).toHaveCount(1);
  await server.call("POST", `/sources/${made.id}/run`, {});
  // The server keeps a hundred of a source by itself: the rest is not there to be counted.
  await expect(page.getByText(/skipped: they arrived too fast/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Reset the count" }).click();
  await expect(page.getByText(/skipped: they arrived too fast/)).toHaveCount(0);
});

test("every event that is emitted while a list is open, also paused, is shown, or the list says that some are not", async ({ page, server }) => {
  const many = `export default { name: "Counted", version: "0.1.0", run({ count }) { for (let n = 0; n < count; n += 1) this.$emit({ n }, { summary: "event " + n }); } };`;
  const made = await server.call<Made>("POST", "/sources", { component_code: many, name: "Counted events" });
  // What the list was given, which draws a part of it.
  const listed = new Set<string>();
  page.on("response", async (response) => {
    const url = new URL(response.url());
    if (!url.pathname.endsWith("/event_summaries") || !url.searchParams.get("include")?.includes("metadata")) return;
    const { data } = (await response.json()) as { data: { id: string }[] };
    for (const { id } of data) listed.add(id);
  });
  const status = page.getByRole("region", { name: "Events" }).getByRole("status");
  const emit = (count: number) => server.call("POST", `/sources/${made.id}/run`, { event: { count } });

  await emit(1);
  await page.goto(`/sources/${made.id}`);
  await expect(page.getByRole("button", { name: "event 0" })).toBeVisible();
  await emit(50);
  await expect.poll(() => listed.size).toBe(51);
  await page.keyboard.press(".");
  await expect(status).toContainText("paused");
  await emit(40);
  await page.keyboard.press(".");
  await expect.poll(() => listed.size).toBe(91);
  await expect(status).not.toContainText("skipped");
  // More than the server has in a list of events: the rest is not there to be counted.
  await page.keyboard.press(".");
  await expect(status).toContainText("paused");
  await emit(250);
  await page.keyboard.press(".");
  await expect(status).toContainText("skipped: they arrived too fast for this list, or while it was paused");
  await expect.poll(() => listed.size).toBe(191);
});

test("a workflow is made of an event: its first test has that one, not the newest", async ({ page, server }) => {
  const made = await server.call<Made>("POST", "/sources", { component_code: code, name: "Used orders" });
  await post(made, { id: 1, street: "Mill lane 3" });
  await post(made, { id: 2, street: "Harbour 9" });
  await page.goto(`/sources/${made.id}`);
  await page.getByRole("table", { name: "Events" }).getByRole("row").filter({ hasText: "order 1" }).getByRole("button").click();
  await page.getByRole("link", { name: "Create a workflow from this event" }).click();
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("Mill lane 3");
  await page.getByRole("button", { name: "Test all" }).click();
  await expect(page.getByRole("tree", { name: "Exports of code" })).toContainText("Mill lane 3");
});

test("a run names the run whose event started it, and those that it started", async ({ page, server }) => {
  const made = await server.call<Made>("POST", "/sources", { component_code: code, name: "Causing orders" });
  for (const name of ["First heir", "Second heir"]) {
    await server.call("POST", "/workflows", { name, triggers: [{ type: "source", id: made.id }], steps: [{ namespace: "one", code: step("return steps.trigger.event.id;") }] });
  }
  await post(made, { id: 7 });
  const runs = () => server.call<{ id: string; owner_name: string }[]>("GET", "/runs?limit=100&include=id,owner_name");
  await expect.poll(async () => (await runs()).filter(({ owner_name }) => owner_name.endsWith("heir")).length).toBe(2);
  const of = async (name: string) => (await runs()).find(({ owner_name }) => owner_name === name)?.id ?? "";
  await page.goto(`/runs/${await of("First heir")}`);
  const facts = page.locator(".run-top .facts");
  await expect(facts).toContainText("Related runscaused by Causing orders");
  await facts.getByRole("link").filter({ hasText: "run_" }).click();
  await expect(facts).toContainText("First heir");
  await expect(facts).toContainText("Second heir");
  await expectAccessible(page);
});

test("a connection that the walls refused stands under the error with what opens it, and whose runs were refused it too", async ({ page, server }) => {
  const of = async (name: string) => {
    const made = await server.call<{ id: string }>("POST", "/workflows", { name, triggers: [], steps: [{ namespace: "call", code: step(`await fetch("http://10.1.2.3:5432/");`) }] });
    await server.call("POST", `/workflows/${made.id}/run`, { event: {} }).catch(() => undefined);
    await expect.poll(async () => (await server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=failed&include=id`)).length).toBe(1);
    const [run] = await server.call<{ id: string }[]>("GET", `/workflows/${made.id}/runs?include=id`);
    return run?.id ?? "";
  };
  const first = await of("Refused first");
  const run = await of("Refused second");
  // What runs say is indexed behind them.
  await expect.poll(async () => (await server.call<{ id: string }[]>("GET", "/runs?status=failed&q=10.1.2.3:5432&include=id")).some(({ id }) => id === first)).toBe(true);
  await page.goto(`/runs/${run}`);
  const error = page.getByRole("tabpanel", { name: "Error" });
  await expect(error).toContainText("Connection to 10.1.2.3:5432 blocked: a private address");
  await expect(error).toContainText("--egress-allow 10.1.2.3:5432");
  await expect(error.getByRole("button", { name: "Copy the flag" })).toBeVisible();
  await expect(error).toContainText("Also blocked: Refused first");
  await expect(error).toContainText("Seen 1 time, first");
  await expectAccessible(page);
});

test("an error event whose results were cut is loaded whole from the run that failed", async ({ page, server }) => {
  const failing = await server.call<{ id: string }>("POST", "/workflows", {
    name: "Long results",
    triggers: [],
    steps: [
      { namespace: "read", code: step(`return { rows: "x".repeat(300_000), last: "the end of it" };`) },
      { namespace: "write", code: step(`throw new RangeError("no room");`) },
    ],
  });
  const handler = await server.call<{ id: string }>("POST", "/workflows", { name: "Reads errors", triggers: [], steps: [{ namespace: "one", code: step("return 1;") }] });
  await server.call("POST", `/subscriptions?emitter_id=${failing.id}&listener_id=${handler.id}&event_name=%24errors`);
  await server.call("POST", `/workflows/${failing.id}/run`, { event: {} }).catch(() => undefined);
  const runs = () => server.call<{ id: string }[]>("GET", `/workflows/${handler.id}/runs?status=succeeded&include=id`);
  await expect.poll(async () => (await runs()).length).toBe(1);
  await page.goto(`/runs/${(await runs())[0]?.id}?step=%24trigger`);
  const tree = page.getByRole("tree", { name: "Event" });
  await expect(tree).toContainText("truncated by the server");
  await expectAccessible(page);
  await page.getByRole("button", { name: "Load all" }).click();
  await expect(tree).toContainText("the end of it");
  await expect(tree).not.toContainText("truncated by the server");
  await expect(page.getByRole("button", { name: "Load all" })).toHaveCount(0);
});
