// What is found by its name, what lists count, and what a delete takes with it.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

const code = (name: string, body: string) => `export default { name: ${JSON.stringify(name)}, version: "1", props: { http: "$.interface.http" }, run(event) { ${body} } };`;

test("the palette finds every kind of record by words of its name, and by its id", async ({ page, server }) => {
  const made = await workflow(server, "Harbour labels", { one: step("return 1;") });
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Harbour orders", component_code: code("Harbour", "this.$emit({ n: 1 });") });
  const webhook = await server.call<{ id: string }>("POST", "/webhooks", { url: "https://erp.northgate.example/in", name: "Harbour ledger" });
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Harbour numbers" });
  await page.goto("/");
  await expect(page.getByRole("heading", { level: 1 })).toBeVisible();
  const palette = page.getByRole("dialog", { name: "Search or run a command" });
  const find = async (words: string) => {
    await page.keyboard.press("ControlOrMeta+k");
    await palette.getByRole("combobox").fill(words);
  };

  await find("harbour");
  for (const option of ["Harbour labels workflow", "Harbour orders source", /^Harbour ledger .*webhook$/, "Harbour numbers data store"]) {
    await expect(palette.getByRole("option", { name: option })).toBeVisible();
  }
  await expectAccessible(page);
  await palette.getByRole("option", { name: /Harbour ledger/ }).click();
  await expect(page).toHaveURL(new RegExp(`/webhooks/${webhook.id}`));

  await find("numbers harbour");
  await expect(palette.getByRole("option", { name: /Harbour numbers/ })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(new RegExp(`/data/${store.id}`));

  // An id says what it is of.
  await find(made.id);
  await expect(palette.getByRole("option", { name: "Harbour labels workflow" })).toBeVisible();
  await find(source.id);
  await expect(palette.getByRole("option", { name: "Harbour orders source" })).toBeVisible();
  await find("nobody is called so");
  await expect(palette.getByText("No matches.")).toBeVisible();
});

test("what is typed before the palette is there is not lost", async ({ page, server }) => {
  await workflow(server, "Quay labels", { one: step("return 1;") });
  let release = (): void => undefined;
  const held = new Promise<void>((done) => { release = done; });
  await page.route(/assets\/palette-.*\.js$/, async (route) => { await held; await route.continue(); });
  await page.goto("/runs");
  await expect(page.getByRole("heading", { name: "Runs" })).toBeVisible();
  await page.keyboard.press("ControlOrMeta+k");
  await expect(page.getByRole("textbox", { name: "Search or run a command" })).toBeFocused();
  await page.keyboard.type("quay lab");
  release();
  await expect(page.getByRole("combobox", { name: "Search or run a command" })).toHaveValue("quay lab");
  await expect(page.getByRole("option", { name: "Quay labels workflow" })).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/\/workflows\/p_/);
});

test("lists say how many runs there were in a day, and how many of them failed", async ({ page, server }) => {
  const made = await workflow(server, "Counted labels", { one: step("if (steps.trigger.event.body.bad) throw new RangeError('no street'); return 1;") });
  for (const bad of [false, false, false, true]) await send(server, made, { bad });
  await workflow(server, "Never ran", { one: step("return 1;") });
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Counted orders", component_code: code("Counted", "this.$emit({ n: 1 });") });
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });

  await page.goto("/workflows");
  const rows = page.getByRole("table", { name: "Workflows" }).getByRole("row");
  const counted = rows.filter({ hasText: "Counted labels" });
  await expect(counted.getByRole("img", { name: /^Counted labels: 4 runs in 24 hours, 25\s%\s?failed$/ })).toBeVisible();
  await expect(counted.getByText(/25\s% failed/)).toBeVisible();
  await expect(rows.filter({ hasText: "Never ran" }).getByText("none").first()).toBeVisible();
  await expectAccessible(page);

  await page.goto("/sources");
  const listed = page.getByRole("table", { name: "Sources" }).getByRole("row").filter({ hasText: "Counted orders" });
  await expect(listed.getByRole("img", { name: "Counted orders: 1 run in 24 hours, none failed" })).toBeVisible();
  await expectAccessible(page);
});

test("a delete says by name and number what goes with it", async ({ page, server }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Leaving orders", component_code: code("Leaving", "this.$emit({ n: 1 });") });
  const listener = await workflow(server, "Left behind", { wait: step("$.flow.suspend(3_600_000);") });
  await server.call("POST", `/subscriptions?emitter_id=${source.id}&listener_id=${listener.id}`);
  await send(server, listener, { n: 1 });

  await page.goto(`/sources/${source.id}/configure`);
  await page.getByRole("button", { name: "Delete source…" }).click();
  const goes = page.getByRole("dialog").getByRole("list", { name: "Also affected" });
  // What listens to every source of the organization stands beside it.
  await expect(goes.getByRole("listitem").filter({ hasText: "Left behind" })).toHaveText("The workflow Left behind loses it");
  await expect(goes.getByRole("link", { name: "Left behind" })).toHaveAttribute("href", `/workflows/${listener.id}`);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Keep editing" }).click();
  expect((await server.call<{ id: string }>("GET", `/sources/${source.id}`)).id).toBe(source.id);

  await page.goto(`/workflows/${listener.id}/settings`);
  await page.getByRole("button", { name: "Delete workflow…" }).click();
  await expect(page.getByRole("dialog").getByRole("list", { name: "Also affected" })).toContainText("1 waiting run is cancelled");
});

test("Enter takes the first source that is found, and else the first example", async ({ page }) => {
  await page.route("**/v1/components/search?*", async (route) => {
    const words = new URL(route.request().url()).searchParams.get("query");
    const found = words === "harbour rows" ? [{ key: "harbour-new-rows", name: "Harbour rows", description: "", version: "1.0.0", type: "source" }] : [];
    await route.fulfill({ json: { data: { components: found } } });
  });
  await page.route("**/v1/components/registry/harbour-new-rows", (route) => route.fulfill({
    json: { data: { id: null, key: "harbour-new-rows", name: "Harbour rows", version: "1.0.0", description: "", type: "source", code: "", configurable_props: [], published: false } },
  }));
  await page.goto("/sources/new");
  const field = page.getByRole("textbox", { name: "Search, or paste a key, a URL or code" });
  await field.fill("harbour rows");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/action=create&key=harbour-new-rows/);

  await page.goto("/sources/new");
  await field.fill("feed");
  await page.keyboard.press("Enter");
  await expect(page).toHaveURL(/action=create&component=sc_/);
  await expect(page.getByRole("button", { name: "Deploy source" })).toBeVisible();
});

test("a component of an app leads to its page, whichever kind it is", async ({ page, server }) => {
  await server.call("POST", "/apps", { name: "Quayside", name_slug: "quayside", auth_type: "keys" });
  await page.route("**/v1/components/search?*", (route) => route.fulfill({
    json: { data: { components: [{ key: "quayside-send", name: "Send", description: "", version: "1.0.0", type: "action" }] } },
  }));
  await page.goto("/apps/quayside");
  await expect(page.getByRole("link", { name: "quayside-send" })).toHaveAttribute("href", "/components/quayside-send");
});
