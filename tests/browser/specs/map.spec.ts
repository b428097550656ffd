// The map of the mill: what emits to what, what turns, and why the rest stands still.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step } from "../fixtures/workflows.ts";

test("the map shows what is joined with what, what ran, and why a wheel stands still", async ({ page }) => {
  // Of its own: the map shows all that the organization has, and its lines are counted.
  const server = await startServer();
  await page.context().setExtraHTTPHeaders({ authorization: `Bearer ${server.key}` });
  const code = `export default { name: "Orders", version: "1", run() { this.$emit({ n: 1 }, { summary: "the first order" }); } };`;
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Orders", component_code: code });
  const asleep = await server.call<{ id: string }>("POST", "/sources", { name: "Asleep", component_code: code });
  await server.call("PUT", `/sources/${asleep.id}`, { active: false });
  const workflow = await server.call<{ id: string }>("POST", "/workflows", {
    name: "Weighing",
    triggers: [{ type: "source", id: source.id }],
    steps: [{ namespace: "one", code: step("throw new RangeError('no');") }],
  });
  const webhook = await server.call<{ id: string }>("POST", "/webhooks", { url: "https://erp.example/orders", name: "ERP" });
  await server.call("POST", `/subscriptions?emitter_id=${workflow.id}&listener_id=${webhook.id}&event_name=%24errors`);
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });

  await page.goto(server.url);
  await page.getByRole("link", { name: "Map", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Map" })).toBeVisible();
  const wheel = (column: string, name: string) => page.getByRole("region", { name: column }).getByRole("button", { name });
  await expect(wheel("Workflows", "Weighing")).toContainText("1 run, 1 failed");
  await expect(wheel("Sources", "Asleep")).toContainText("inactive");
  await expect(page.locator(".map-lines path")).toHaveCount(2);
  await expectAccessible(page);

  await wheel("Sources", "Orders").click();
  const about = page.getByRole("complementary", { name: "Orders" });
  await expect(about).toContainText("Weighing");
  await expect(about.getByRole("list", { name: "Recent events" })).toContainText("the first order");
  await wheel("Workflows", "Weighing").click();
  await expect(page.getByRole("complementary", { name: "Weighing" })).toContainText("ERP errors");
  await expect(page).toHaveURL(/at=p_/);
  await expectAccessible(page);
  // What happens is counted as it happens.
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });
  await expect(wheel("Workflows", "Weighing")).toContainText("2 runs, 2 failed");
  await page.getByRole("complementary", { name: "Weighing" }).getByRole("link", { name: "Weighing" }).click();
  await expect(page.getByRole("heading", { name: "Weighing" })).toBeVisible();
  // A page that is open asks on, and its console would say that nobody answers.
  await page.close();
  await server.stop();
});
