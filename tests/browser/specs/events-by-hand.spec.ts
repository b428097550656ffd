// Events of a source that are found by what they hold, sent again, and emitted by hand.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

const code = `export default { name: "Orders", version: "1", props: { http: "$.interface.http" },
  sampleEmit: { id: 7, city: "Oslo" }, run({ body }) { this.$emit(body, { id: body.id, summary: "Order " + body.id }); } };`;

test("an event is found by its data, sent again to who listens now, and one is emitted by hand", async ({ browser }) => {
  const server = await startServer();
  const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", baseURL: server.url });
  const page = await context.newPage();
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Orders", component_code: code });
  for (const [id, city] of [[1, "Uppsala"], [2, "Hamburg"]] as const) {
    await server.call("POST", `/sources/${source.id}/run`, { event: { body: { id, city } } });
  }
  // Nobody listened when they came.
  const made = await workflow(server, "Labels", { label: step(`return steps.trigger.event;`) });
  await server.call("POST", "/subscriptions", { emitter_id: source.id, listener_id: made.id });

  await page.goto("/sources");
  await expect(page.getByRole("table", { name: "Sources" }).getByRole("row").last()).toContainText("ago");
  await page.goto(`/sources/${source.id}/events`);
  const events = page.getByRole("table", { name: "Events" });
  await expect(events.getByRole("button")).toHaveCount(2);
  await page.getByRole("searchbox", { name: "Filter this list" }).fill("uppsala");
  await expect(page.getByText("None of the events shown match.")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(events.getByRole("button")).toHaveText(["Order 1"]);
  await expect(page.getByRole("status").filter({ hasText: "1 event with “uppsala”" })).toBeVisible();

  await events.getByRole("button", { name: "Order 1" }).click();
  await page.getByRole("button", { name: "Send again…" }).click();
  const asks = page.getByRole("dialog", { name: "Send this event again?" });
  await expectAccessible(page);
  await asks.getByRole("button", { name: "Send again" }).click();
  await expect(page.getByText("Sent: 1 run started")).toBeVisible();

  await page.getByRole("button", { name: "Run now" }).first().click();
  const by = page.getByRole("dialog", { name: "Run now" });
  await by.getByRole("button", { name: "Emit event as it is" }).click();
  await expect(by).toContainText("Its code does not run. It is the sample event of the component.");
  await expect(by.getByRole("textbox", { name: "Event" })).toContainText("Oslo");
  await by.getByRole("button", { name: "Emit event", exact: true }).click();
  await expect(by).toBeHidden();
  const runs = () => server.call<{ id: string }[]>("GET", `/workflows/${made.id}/runs`);
  await expect.poll(async () => (await runs()).length).toBe(2);
  await page.getByRole("searchbox", { name: "Filter this list" }).fill("");
  await expect(events.getByRole("button")).toHaveCount(3);
  await context.close();
  await server.stop();
});
