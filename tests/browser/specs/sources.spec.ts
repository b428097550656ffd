import { expect, expectAccessible, test } from "../fixtures/test.ts";

const CODE = `
export default {
  key: "shop-orders",
  name: "Shop orders",
  version: "1.2.3",
  description: "Emits an event for each **order**.",
  type: "source",
  dedupe: "unique",
  props: {
    http: { type: "$.interface.http", customResponse: true },
    db: "$.service.db",
    note: { type: "alert", alertType: "warning", content: "Two sources share one limit." },
    shop: { type: "string", label: "Shop", options: ["north", "south"] },
    most: { type: "integer", label: "Rows at most", min: 1, max: 1000, default: 10 },
    leaveOut: { type: "string[]", label: "Leave out", optional: true },
    types: { type: "object", label: "Column types", optional: true },
    secret: { type: "string", label: "Signing secret", secret: true },
    sheet: {
      type: "string",
      label: "Worksheet",
      optional: true,
      async options({ page }) {
        return ["one", "two", "three"].map((name) => ({ label: name + " of page " + page, value: name + page }));
      },
    },
    quick: { type: "boolean", label: "Quick", optional: true, reloadProps: true },
  },
  async additionalProps() {
    return this.quick ? { speed: { type: "string", label: "Speed" } } : {};
  },
  async run(event) {
    console.log("got", event.path);
    this.http.respond({ status: 200, body: "ok" });
    this.$emit({ shop: this.shop, most: this.most, body: event.body }, { id: Date.now() + Math.random(), summary: "Order of " + this.shop });
  },
};`;

test("a source is deployed from pasted code with its form, and its events arrive", async ({ page, server }) => {
  await page.goto("/sources/new");
  await page.getByRole("textbox", { name: /Words, a key/ }).fill(CODE);
  await page.getByRole("button", { name: "Read the code" }).click();
  await expect(page.getByRole("heading", { name: "Shop orders" })).toBeVisible();
  await expect(page.getByText("Two sources share one limit.")).toBeVisible();
  await expectAccessible(page);

  // What is missing or wrong is said at its place and in one sum with links.
  await page.getByLabel("Rows at most").fill("5,000");
  await page.getByRole("button", { name: "Deploy source" }).click();
  const sum = page.getByRole("alert").filter({ hasText: "fields need you" });
  await expect(sum).toContainText("Shop");
  await expect(sum).toContainText("Signing secret");
  await expect(page.getByText("5,000 is over the maximum. Allowed: 1 to 1,000.")).toBeVisible();
  await expectAccessible(page);

  await page.getByLabel("Rows at most").fill("25");
  await page.getByRole("combobox", { name: "Shop" }).click();
  await page.getByRole("option", { name: "north" }).click();
  await page.getByLabel("Signing secret").fill("hush");
  await page.getByRole("button", { name: "Add to Leave out" }).click();
  await page.getByRole("textbox", { name: "Leave out, item 1" }).fill("internal_note");

  // Options that the code is asked for, page by page.
  await page.getByRole("combobox", { name: "Worksheet" }).click();
  await page.getByRole("button", { name: "Load the next" }).click();
  await page.getByRole("option", { name: "two of page 1" }).click();

  // Choosing makes the component say its props again; what was typed stays.
  await page.getByRole("switch", { name: "Quick" }).click();
  await expect(page.getByLabel("Speed")).toBeVisible();
  await page.getByLabel("Speed").fill("very");
  await expect(page.getByLabel("Rows at most")).toHaveValue("25");

  await page.getByRole("button", { name: "Deploy source" }).click();
  await expect(page.getByText("No event yet.")).toBeVisible();
  await expect(page).toHaveURL(/\/sources\/dc_\w+$/);

  const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
  const source = await server.call<{ configured_props: Record<string, unknown> }>("GET", `/sources/${id}`);
  expect(source.configured_props).toMatchObject({
    shop: "north",
    most: 25,
    leaveOut: ["internal_note"],
    sheet: "two1",
    quick: true,
    speed: "very",
  });
  const { endpoint_url: endpoint } = source.configured_props["http"] as { endpoint_url: string };
  await fetch(endpoint, { method: "POST", body: '{"order": 10519}', headers: { "content-type": "application/json" } });
  await expect(page.getByRole("button", { name: "Order of north" })).toBeVisible();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("order: 10519");
  await expect(page.getByRole("region", { name: "Lines of the log" })).toContainText("got /");
  await expectAccessible(page);

  // A secret is never shown again, and stays when the rest is changed.
  await page.getByRole("link", { name: "Configure" }).click();
  await expect(page.getByText("Set. Nobody can read it back.")).toBeVisible();
  await page.getByLabel("Rows at most").fill("30");
  await page.getByRole("button", { name: "Save" }).click();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  const changed = await server.call<{ configured_props: Record<string, unknown> }>("GET", `/sources/${id}`);
  expect(changed.configured_props).toMatchObject({ most: 30, shop: "north", speed: "very" });
});

test("the addresses of spec 4.5 find, deploy by key and by address, and list", async ({ page, server }) => {
  await server.call("POST", "/components", { component_code: CODE, publish: true });
  await page.goto("/sources?action=create&key=shop-orders");
  await expect(page.getByRole("heading", { name: "Shop orders" })).toBeVisible();
  await expect(page.getByRole("complementary", { name: "What will run" })).toContainText("1.2.3");

  // The link alone reads nothing.
  const asked: string[] = [];
  page.on("request", (request) => {
    if (request.method() !== "GET") asked.push(request.url());
  });
  await page.goto(`/sources?action=create&url=${encodeURIComponent("https://example.com/a.mjs?b=c&d")}`);
  await expect(page.getByText("https://example.com/a.mjs?b=c&d")).toBeVisible();
  await expect(page.getByRole("button", { name: "Read the code" })).toBeVisible();
  expect(asked).toEqual([]);
  await expectAccessible(page);

  await page.goto("/sources/new");
  await page.getByRole("textbox", { name: /Words, a key/ }).fill("shop orders");
  await page.getByRole("link", { name: /Shop orders/ }).click();
  await expect(page).toHaveURL(/action=create&key=shop-orders/);

  await page.goto("/sources");
  await expect(page.getByRole("heading", { name: "Sources" })).toBeVisible();
  await expectAccessible(page);
});

test("what was typed into a form outlives a reload, but for secrets", async ({ page, server }) => {
  await server.call("POST", "/components", { component_code: CODE, publish: true });
  await page.goto("/sources?action=create&key=shop-orders");
  await page.getByLabel("Rows at most").fill("77");
  await page.getByLabel("Signing secret").fill("hush");
  await expect(page.getByText(/Kept in this browser/)).toBeVisible();
  await page.reload();
  await expect(page.getByLabel("Rows at most")).toHaveValue("77");
  await expect(page.getByLabel("Signing secret")).toHaveValue("");
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("hush");
});

test("a source is deleted only by its name, and the list says that none is left of those that match", async ({ page, server }) => {
  const source = await server.call<{ id: string; name_slug: string }>("POST", "/sources", {
    component_code: 'export default { name: "Short lived", version: "1", async run() {} };',
  });
  await page.goto(`/sources/${source.id}/configure`);
  await page.getByRole("button", { name: "Delete source…" }).click();
  const dialog = page.getByRole("dialog", { name: /Delete source/ });
  await expect(dialog.getByRole("button", { name: "Delete source" })).toBeDisabled();
  await dialog.getByRole("textbox").fill(source.name_slug);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Delete source" }).click();
  await expect(page).toHaveURL(/\/sources$/);
  await page.getByRole("searchbox", { name: "Search names" }).fill("short lived");
  await expect(page.getByRole("link", { name: "Short lived" })).toHaveCount(0);
});
