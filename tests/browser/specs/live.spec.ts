// What happens comes over the stream: lists and logs ask for nothing while nothing happens.
import { expect, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

type Source = { id: string };

const code = `export default { name: "Tail", version: "0.1.0", run({ n }) { console.log("order " + n + " came"); this.$emit({ n }, { summary: "order " + n }); } };`;

test("events and lines of a log come by the stream, and nothing is asked for meanwhile", async ({ page, server }) => {
  const made = await server.call<Source>("POST", "/sources", { component_code: code, name: "Tail" });
  await server.call("POST", `/sources/${made.id}/run`, { event: { n: 1 } });
  await page.clock.install();
  await page.goto(`/sources/${made.id}`);
  const log = page.getByRole("region", { name: "Logs", exact: true });
  const events = page.getByRole("table", { name: "Events" });
  await expect(log).toContainText("order 1 came");
  await expect(events).toContainText("order 1");
  // The stream is open: what is shown was read again as it opened.
  await server.call("POST", `/sources/${made.id}/run`, { event: { n: 2 } });
  await expect(log).toContainText("order 2 came");
  await expect(events).toContainText("order 2");
  // A second change within a second is read at the end of it; an answer of the server says that the page has asked for it.
  await page.clock.fastForward(2_000);
  await page.evaluate(() => fetch("/readyz").then(() => undefined));
  const asked: string[] = [];
  page.on("request", (request) => {
    const { pathname } = new URL(request.url());
    if (/\/(logs|event_summaries)$/.test(pathname)) asked.push(pathname);
  });
  await page.clock.fastForward("05:00");
  expect(asked).toEqual([]);
  await server.call("POST", `/sources/${made.id}/run`, { event: { n: 3 } });
  await expect(log).toContainText("order 3 came");
  await expect(events).toContainText("order 3");
  expect(asked.length).toBeGreaterThan(0);
});

test("one tab reads the stream for all: what the others show comes too, and goes on when that tab is closed", async ({ page, context, server }) => {
  const made = await server.call<Source>("POST", "/sources", { component_code: code, name: "Tail of tabs" });
  const other = await workflow(server, "Logs of tabs", { says: step(`console.log("parcel", steps.trigger.event.body.n); return 1;`) });
  await page.goto(`/sources/${made.id}`);
  await expect(page.getByRole("heading", { name: "Tail of tabs" })).toBeVisible();
  const second = await context.newPage();
  await second.goto(`/workflows/${other.id}/logs`);
  await second.getByRole("region", { name: "Logs", exact: true }).waitFor();
  await send(server, other, { n: 1 });
  await expect(second.getByRole("region", { name: "Logs", exact: true })).toContainText("parcel 1");
  await server.call("POST", `/sources/${made.id}/run`, { event: { n: 7 } });
  await expect(page.getByRole("table", { name: "Events" })).toContainText("order 7");
  await page.close();
  await send(server, other, { n: 2 });
  await expect(second.getByRole("region", { name: "Logs", exact: true })).toContainText("parcel 2");
});

test("a list that is read keeps its rows while more come than it has, and what happens to them is shown", async ({ page, server }) => {
  const made = await workflow(server, "Flood", { one: step(`return 1;`), waits: step(`if (steps.trigger.event.body.waits) $.flow.suspend();`) });
  const post = (body: object) => fetch(made.endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  const waiting = await send(server, made, { waits: true });
  for (let n = 0; n < 3; n += 1) await send(server, made, {});
  for (const path of ["/runs", `/workflows/${made.id}/runs`]) {
    await page.goto(path);
    const links = page.getByRole("table", { name: "Runs" }).locator(".row-link");
    const hrefs = () => links.evaluateAll((all) => all.map((each) => each.getAttribute("href")));
    await links.nth(2).hover();
    const [before, box] = [await hrefs(), await links.nth(2).boundingBox()];
    await Promise.all(Array.from({ length: 6 }, async () => {
      for (let n = 0; n < 20; n += 1) await post({});
    }));
    const bar = page.getByRole("button", { name: "50+ new" });
    await expect(bar).toBeVisible();
    expect(await hrefs()).toEqual(before);
    expect(await links.nth(2).boundingBox()).toEqual(box);
    if (path === "/runs") {
      // Newer runs pushed the paused one out of the newest page: it is read by its id.
      const paused = page.getByRole("row").filter({ has: page.locator(`a[href="/runs/${waiting}"]`) }).filter({ has: page.getByRole("cell", { name: "Paused" }) });
      await expect(paused).toHaveCount(1);
      await server.call("POST", `/runs/${waiting}/cancel`);
      await expect(paused).toHaveCount(0, { timeout: 20_000 });
    }
    await page.keyboard.press(".");
    await expect(bar).toBeHidden();
    expect((await hrefs())[0]).not.toBe(before[0]);
  }
});
