// Runs that are read one after the other while others come, and the way from an error to its line.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("runs that come while a list is read wait under a bar, and j and k go from run to run", async ({ browser }) => {
  const server = await startServer();
  const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", baseURL: server.url });
  const page = await context.newPage();
  const made = await workflow(server, "Labels", {
    weigh: step(`return 1;`),
    label: step(`const { street } = steps.trigger.event.body;
    if (street === undefined) throw new TypeError("no \`street\` in the order");
    return street;`),
  });
  const first = await send(server, made, { street: "Mill lane 3" });
  const second = await send(server, made, {});

  await page.goto("/runs");
  const table = page.getByRole("table", { name: "Runs" });
  await expect(table.getByRole("link")).toHaveCount(2);
  // The pointer is on the list: nothing may move below it.
  await table.getByRole("row").last().hover();
  const third = await send(server, made, {});
  const bar = page.getByRole("button", { name: "1 new, failed 1" });
  await expect(bar).toBeVisible();
  await expect(page).toHaveTitle(/1 new/);
  await expect(table.getByRole("link")).toHaveCount(2);
  await expectAccessible(page);
  await page.keyboard.press(".");
  await expect(bar).toBeHidden();
  await expect(table.getByRole("link")).toHaveCount(3);

  await table.getByRole("link").first().click();
  await expect(page).toHaveURL(new RegExp(`/runs/${third}`));
  await expect(page.getByText("1 of 3")).toBeVisible();
  await expect(page.getByRole("button", { name: "Previous run of the list" })).toBeDisabled();
  await page.keyboard.press("j");
  await expect(page).toHaveURL(new RegExp(`/runs/${second}`));
  await page.keyboard.press("j");
  await expect(page).toHaveURL(new RegExp(`/runs/${first}`));
  await page.keyboard.press("k");
  await expect(page).toHaveURL(new RegExp(`/runs/${second}`));
  await expect(page.getByText("2 of 3")).toBeVisible();

  // What the server or code puts in backticks is code.
  await expect(page.locator(".error-message code")).toHaveText("street");
  await page.getByRole("link", { name: "Open this line in the draft" }).click();
  await expect(page).toHaveURL(/step=label.*line=4|line=4.*step=label/);
  const editor = page.getByRole("textbox", { name: "Code of label" });
  await expect(editor).toBeFocused();
  await expect(page.locator(".cm-activeLine")).toContainText("throw new TypeError");

  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByRole("switch", { name: "Runs" }).click();
  await expect(page.getByRole("navigation", { name: "Trigger and steps" })).toContainText("off");
  await expectAccessible(page);
  await context.close();
  await server.stop();
});

test("'durability is a claim': where the server ended within a step, the run's page shows what was kept, and that the step ran again", async ({ page, server }) => {
  const made = await workflow(server, "Ended midway", { kept: step("return 1;"), slow: step("await new Promise((done) => setTimeout(done, 1500)); return 2;") });
  await fetch(made.endpoint, { method: "POST", body: "{}" });
  const runs = () => server.call<{ id: string; status: string; steps: unknown[] }[]>("GET", `/workflows/${made.id}/runs?limit=1`);
  await expect.poll(async () => (await runs())[0]?.steps.length).toBe(1);
  await server.kill();
  await server.start();
  await expect.poll(async () => (await runs())[0]?.status, { timeout: 60_000 }).toBe("succeeded");
  await page.goto(`/runs/${(await runs())[0]?.id}`);
  const times = page.getByRole("region", { name: "Timeline" });
  await expect(times).toContainText("exited in slow. 1 result before it was kept, and it ran again.");
  await expect(times.getByRole("button", { name: /slow/ })).toContainText("attempt 2");
  await expectAccessible(page);
});

test("a slow search for related runs holds back nothing of a run", async ({ page, server }) => {
  const made = await workflow(server, "Long lineage", { one: step("return 1;") });
  const run = await send(server, made, { id: 1 });
  let answer: (() => void) | undefined;
  const waits = new Promise<void>((resolve) => {
    answer = resolve;
  });
  await page.route("**/v1/runs?trace_id=*", async (route) => {
    await waits;
    await route.fallback();
  });
  await page.goto(`/runs/${run}`);
  await expect(page.getByRole("heading", { name: "Long lineage" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Timeline" })).toBeVisible();
  const facts = page.locator(".run-top .facts");
  await expect(facts).toContainText("Related runs");
  const before = await facts.boundingBox();
  answer?.();
  await expect(facts).toContainText("Related runsnone");
  expect(await facts.boundingBox()).toEqual(before);
  // The exact time stands in a tip that is made once the pointer is there.
  await facts.locator("time").first().hover();
  await expect(page.locator(".tip")).toContainText(/ 20\d\d, \d\d:\d\d:\d\d/);
});
