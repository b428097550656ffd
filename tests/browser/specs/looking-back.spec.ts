// What is looked up afterwards: lines of logs, mail, changes, keys of a store; and what a person prefers.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("a log is paged back, and filtered by level, step and words", async ({ page, server }) => {
  const made = await workflow(server, "Talks much", {
    count: step(`for (let n = 1; n <= 150; n++) console.log("parcel", n); return 1;`),
    warn: step(`console.warn("shelf A1 is low"); console.error("shelf A2 is empty"); return 2;`),
  });
  await send(server, made, {});
  await page.goto(`/workflows/${made.id}`);
  await page.getByRole("navigation", { name: "Parts of the workflow" }).getByRole("link", { name: "Logs" }).click();
  const log = page.getByRole("region", { name: "Log lines" });
  await expect(log).toContainText("shelf A2 is empty");
  await expect(log).toContainText("parcel 150");
  await expectAccessible(page);
  const older = log.getByRole("button", { name: "Show older lines" });
  await older.click();
  await expect(older).toHaveCount(0);
  // The place that was read is kept when older lines come above it: it may be scrolled back to once more.
  await expect(async () => {
    await log.evaluate((box) => box.scrollTo(0, 0));
    await expect(log.getByText("parcel 1", { exact: true })).toBeVisible({ timeout: 500 });
  }).toPass();

  await page.getByRole("searchbox", { name: "Search lines" }).fill("PARCEL 42");
  await expect(log.locator(".log-line")).toHaveCount(1);
  await expect(log).toContainText("parcel 42");
  await page.getByRole("searchbox", { name: "Search lines" }).fill("shelf");
  await page.getByRole("button", { name: "Errors", exact: true }).click();
  await expect(log.locator(".log-line")).toHaveCount(1);
  await expect(log).toContainText("shelf A2 is empty");
  await page.getByRole("combobox", { name: "Step" }).click();
  await page.getByRole("option", { name: "count" }).click();
  await expect(page.getByText("No matching lines.")).toBeVisible();
});

test("keys of a data store are found by how they begin, with a glance at their values", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Parcels" });
  for (const [key, value] of [["order/1", { seen: true }], ["order/2", 7], ["shelf/1", "A1"]]) {
    await server.call("PUT", `/data_stores/${store.id}/record`, { key, value });
  }
  await page.goto(`/data/${store.id}`);
  const rows = page.getByRole("table", { name: "Keys" }).getByRole("row");
  await expect(rows).toHaveCount(3);
  await expect(rows.filter({ hasText: "order/1" })).toContainText('{"seen":true}');
  await page.getByRole("searchbox", { name: "Keys that start with" }).fill("order/");
  await expect(rows).toHaveCount(2);
  await expect(page).toHaveURL(/prefix=order/);
  await expectAccessible(page);
  await page.reload();
  await expect(rows).toHaveCount(2);
  await page.getByRole("searchbox", { name: "Keys that start with" }).fill("nothing");
  await page.getByRole("button", { name: "Show all keys" }).click();
  await expect(rows).toHaveCount(3);
});

test("a value of a data store that was written meanwhile is not overwritten without a question", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Cursors" });
  const record = `/data_stores/${store.id}/record`;
  const write = (value: unknown) => server.call("PUT", record, { key: "cursor", value });
  const stored = () => server.call<{ value: unknown }>("GET", `${record}?key=cursor`);
  await write({ at: 1 });
  await page.goto(`/data/${store.id}?key=cursor`);
  const value = page.getByRole("textbox", { name: "Value" });
  await expect(value).toContainText('"at": 1');
  await value.fill('{"at": 2}');
  await write({ at: 999 });
  await page.getByRole("button", { name: "Save" }).click();
  const question = page.getByRole("alert");
  await expect(question).toContainText("changed elsewhere");
  await expectAccessible(page);
  expect((await stored()).value).toEqual({ at: 999 });
  await question.getByRole("button", { name: "Overwrite with mine" }).click();
  await expect(question).toHaveCount(0);
  // The question goes as the value is sent.
  await expect.poll(async () => (await stored()).value).toEqual({ at: 2 });
});

test("a value that is typed and not saved is there again after another key was looked at", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Typed" });
  for (const key of ["one", "two"]) await server.call("PUT", `/data_stores/${store.id}/record`, { key, value: key });
  await page.goto(`/data/${store.id}?key=one`);
  const value = page.getByRole("textbox", { name: "Value" });
  await expect(value).toContainText('"one"');
  await value.fill('"typed"');
  await page.getByRole("button", { name: "two", exact: true }).click();
  await expect(value).toContainText('"two"');
  await page.getByRole("button", { name: "one", exact: true }).click();
  await expect(value).toContainText('"typed"');
  await expectAccessible(page);
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(value).toContainText('"one"');
});

test("on a narrow screen the value takes the place of the keys, and the focus goes there and back", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Narrow" });
  for (let at = 10; at < 50; at += 1) await server.call("PUT", `/data_stores/${store.id}/record`, { key: `k${at}`, value: at });
  await page.setViewportSize({ width: 380, height: 760 });
  await page.goto(`/data/${store.id}`);
  const key = page.getByRole("button", { name: "k40", exact: true });
  await key.click();
  await expect(page.getByRole("region", { name: "Value" })).toBeFocused();
  await expect(page.getByRole("textbox", { name: "Value" })).toBeInViewport();
  await expect(page.getByRole("table", { name: "Keys" })).toBeHidden();
  await expectAccessible(page);
  await page.getByRole("button", { name: "All keys" }).click();
  await expect(key).toBeFocused();
  await page.getByRole("button", { name: "Add", exact: true }).click();
  await expect(page.getByLabel("Key", { exact: true })).toBeFocused();
});

test("the audit shows what was done by somebody, to something, lately", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Watched" });
  await server.call("PUT", `/data_stores/${store.id}`, { name: "Watched closely" });
  await server.call("POST", "/data_stores", { name: "Another" });
  await page.goto("/settings/audit");
  const rows = page.getByRole("table", { name: "Audit log" }).getByRole("row");
  await expect(rows.filter({ hasText: store.id }).first()).toBeVisible();
  await expectAccessible(page);
  await rows.filter({ hasText: store.id }).first().getByRole("button", { name: store.id }).click();
  await expect(page).toHaveURL(new RegExp(`target=${store.id}`));
  await expect(page.getByRole("searchbox", { name: "Target ID" })).toHaveValue(store.id);
  await expect.poll(async () => (await rows.allInnerTexts()).slice(1).every((row) => row.includes(store.id))).toBe(true);
  await page.getByRole("button", { name: "24 h" }).click();
  await expect(page).toHaveURL(/age=day/);
  await expect(rows.filter({ hasText: store.id }).first()).toBeVisible();
  await page.getByRole("searchbox", { name: "Target ID" }).fill("ds_nobody");
  await page.keyboard.press("Enter");
  await expect(page.getByText("No record matches.")).toBeVisible();
  await page.getByRole("button", { name: "Clear filter" }).first().click();
  await expect(page).not.toHaveURL(/target/);
});

test("a mail that waits is read, and sent again", async ({ page, server }) => {
  const made = await workflow(server, "Mails", { mail: step(`$.send.email({ subject: "Parcel 12 waits", text: "At the counter." }); return 1;`) });
  await send(server, made, {});
  await page.goto("/mail");
  await expect(page.getByRole("region", { name: "Message text" })).toContainText("At the counter.");
  await expectAccessible(page);
  const asked = page.waitForResponse(/\/v1\/mail\/[^/]+\/send$/);
  await page.getByRole("button", { name: "Send again" }).click();
  expect((await asked).request().method()).toBe("POST");
});

test("the theme that a person chose is there in every browser", async ({ browser, messages }) => {
  expect(messages).toEqual([]);
  const server = await startServer();
  const visit = async () => {
    const context = await browser.newContext({ baseURL: server.url, extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", viewport: { width: 1440, height: 900 } });
    const page = await context.newPage();
    await page.goto("/runs");
    await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
    return { context, page };
  };
  const one = await visit();
  const kept = one.page.waitForResponse((answer) => answer.url().endsWith("/preferences") && answer.request().method() === "PUT");
  await one.page.getByRole("button", { name: "Theme: system" }).click();
  expect((await kept).ok()).toBe(true);
  await expect(one.page.locator("html")).toHaveAttribute("data-theme", "light");
  await one.context.close();
  const two = await visit();
  await expect(two.page.locator("html")).toHaveAttribute("data-theme", "light");
  await two.context.close();
  await server.stop();
});
