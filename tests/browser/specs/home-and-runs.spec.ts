// What runs, of all owners: Home and the list.
import { expect, test } from "../fixtures/test.ts";

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
  const lately = page.getByRole("list", { name: "Ran lately" });
  await expect(lately.getByRole("link", { name: "RangeError no such shelf" })).toBeVisible();
  await expect(lately.getByText("Changelogs").first()).toBeVisible();
  const attention = page.getByRole("complementary", { name: "What needs attention" });
  await expect(attention.getByRole("link", { name: "RangeError no such shelf" })).toBeVisible();
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/home.png` });

  await page.getByRole("link", { name: "All runs" }).click();
  const runs = page.getByRole("table", { name: "Runs" });
  await expect(runs.getByRole("row").filter({ hasText: "Changelogs" }).first()).toBeVisible();
  await expect(runs.getByRole("row").filter({ hasText: "Stock" }).first()).toBeVisible();
  if (process.env["SHOTS"]) await page.screenshot({ path: `${process.env["SHOTS"]}/runs.png` });

  // What runs meanwhile comes by the stream.
  await server.call("POST", `/sources/${good.id}/run`, { event: {} });
  await expect(runs.getByRole("row").filter({ hasText: "Changelogs" })).toHaveCount(2, { timeout: 10_000 });

  // The view is in the address.
  await page.getByRole("button", { name: "Failed or paused" }).click();
  await expect(page).toHaveURL(/view=trouble/);
  await expect(runs.getByRole("row").filter({ hasText: "Changelogs" })).toHaveCount(0);
  await page.reload();
  await runs.getByRole("link", { name: "RangeError no such shelf" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
});
