// What a person makes of lists: columns, saved views, the zone of times; and what an empty list says.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("columns that a person chose are there in every browser, for each list by itself", async ({ browser, messages }) => {
  expect(messages).toEqual([]);
  const server = await startServer();
  const made = await workflow(server, "Columns", { one: step("return 1;") });
  await send(server, made, {});
  const visit = async () => {
    const context = await browser.newContext({ baseURL: server.url, extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", viewport: { width: 1440, height: 900 } });
    return { context, page: await context.newPage() };
  };
  const one = await visit();
  await one.page.goto("/runs");
  const head = one.page.getByRole("columnheader");
  await expect(head.filter({ hasText: "Duration" })).toBeVisible();
  await expect(head.filter({ hasText: "Version" })).toBeHidden();
  await one.page.getByRole("button", { name: "Columns" }).click();
  await one.page.getByRole("menuitemcheckbox", { name: "Duration" }).click();
  const kept = one.page.waitForResponse((answer) => answer.url().endsWith("/preferences") && answer.request().method() === "PUT");
  await one.page.getByRole("menuitemcheckbox", { name: "Version" }).click();
  await kept;
  await expectAccessible(one.page);
  await one.page.keyboard.press("Escape");
  await expect(head.filter({ hasText: "Duration" })).toBeHidden();
  await expect(head.filter({ hasText: "Version" })).toBeVisible();
  await expect(one.page.getByRole("table", { name: "Runs" }).getByRole("row").last()).toContainText("v1");
  // Cells stand below their heads, whatever is hidden.
  const left = async (name: string) => (await one.page.getByRole("columnheader", { name }).boundingBox())?.x;
  const cell = await one.page.locator(".t-runs tbody .c-when").first().boundingBox();
  expect(Math.abs((cell?.x ?? 0) - ((await left("When")) ?? 1_000))).toBeLessThan(120);
  for (const [path, name] of [["/workflows", "Last run"], ["/sources", "Starts"], ["/errors", "First seen"]] as const) {
    await one.page.goto(path);
    await one.page.getByRole("button", { name: "Columns" }).click();
    await one.page.getByRole("menuitemcheckbox", { name }).click();
    await expect(one.page.getByRole("menuitemcheckbox", { name })).not.toBeChecked();
    await one.page.getByRole("menuitem", { name: "Default columns" }).click();
  }
  await one.context.close();

  const two = await visit();
  await two.page.goto(`/workflows/${made.id}/runs`);
  await expect(two.page.getByRole("columnheader", { name: "Duration" })).toBeHidden();
  await expect(two.page.getByRole("columnheader", { name: "Version" })).toBeVisible();
  await two.page.getByRole("button", { name: "Columns" }).click();
  await two.page.getByRole("menuitem", { name: "Default columns" }).click();
  await expect(two.page.getByRole("columnheader", { name: "Duration" })).toBeVisible();
  await two.context.close();
  await server.stop();
});

test("a view is saved by its name, opened again, and removed", async ({ page, server }) => {
  const made = await workflow(server, "Viewed", { one: step(`throw new Error("no")`) });
  await send(server, made, {});
  await page.goto(`/runs?owner=${made.id}&status=failed`);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Save this view…" }).click();
  const dialog = page.getByRole("dialog", { name: "Save this view" });
  await expectAccessible(page);
  await dialog.getByLabel("Name").fill("Broken ones");
  await page.keyboard.press("Enter");
  await expect(dialog).toHaveCount(0);
  await page.getByRole("button", { name: "Clear filters" }).click();
  await expect(page).not.toHaveURL(/owner=/);
  await page.reload();
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Broken ones" }).click();
  await expect(page).toHaveURL(new RegExp(`owner=${made.id}`));
  await expect(page).toHaveURL(/status=failed/);
  await page.getByRole("button", { name: "Views" }).click();
  await page.getByRole("menuitem", { name: "Delete views…" }).click();
  await page.getByRole("button", { name: "Delete the view Broken ones" }).click();
  await expect(page.getByText("No views left.")).toBeVisible();
});

test("a list that its filters left empty says how many there are, and removes the filter that leaves out most", async ({ page, server }) => {
  const made = await workflow(server, "Tight", { one: step("return 1;") });
  await send(server, made, {});
  await page.goto(`/runs?owner=${made.id}&took=minute&age=week`);
  await expect(page.getByText(/^None of [\d,]+ runs? (or more )?match\.$/)).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Clear 1 min or longer" }).click();
  await expect(page.getByRole("table", { name: "Runs" }).getByRole("row")).toHaveCount(3);
  await expect(page).not.toHaveURL(/took/);
});

test("times are shown in UTC for whoever wants them so, on every page", async ({ browser, messages }) => {
  expect(messages).toEqual([]);
  const server = await startServer();
  const context = await browser.newContext({ baseURL: server.url, extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", viewport: { width: 1440, height: 900 }, timezoneId: "Asia/Tokyo", locale: "en-GB" });
  const page = await context.newPage();
  const made = await workflow(server, "Zones", { one: step("return 1;") });
  const run = await send(server, made, {});
  const { created_at_ms } = await server.call<{ created_at_ms: number }>("GET", `/runs/${run}?include=created_at_ms`);
  const clock = (timeZone: string) => new Intl.DateTimeFormat("en-GB", { timeZone, hour: "2-digit", minute: "2-digit", second: "2-digit" }).format(created_at_ms);
  await page.goto(`/runs/${run}`);
  const top = page.locator(".run-top");
  await expect(top).toContainText(clock("Asia/Tokyo"));
  await page.getByRole("button", { name: /Owner|owner/ }).first().click();
  await page.getByRole("menuitemcheckbox", { name: "Times in UTC" }).click();
  await page.keyboard.press("Escape");
  await expect(top).toContainText(clock("UTC"));
  await page.reload();
  await expect(top).toContainText(clock("UTC"));
  await context.close();
  await server.stop();
});

test("rows of a plain list are reached by j and k, and opened", async ({ page, server }) => {
  for (const name of ["crates", "orders"]) await server.call("POST", "/data_stores", { name });
  await page.goto("/data");
  const row = (name: string) => page.getByRole("table", { name: "Data stores" }).getByRole("link", { name, exact: true });
  await expect(row("crates")).toBeVisible();
  await page.keyboard.press("j");
  await expect(row("orders")).toBeFocused();
  await page.keyboard.press("j");
  await expect(row("crates")).toBeFocused();
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "orders" })).toBeVisible();
});
