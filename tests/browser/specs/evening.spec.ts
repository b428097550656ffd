// A whole evening: a source is deployed, a workflow built on it, a step breaks, is mended, and what failed is finished.
// With PICTURES, a folder, it takes the pictures of the tour in docs/guide.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow, write } from "../fixtures/workflows.ts";
import type { Page } from "@playwright/test";

const picture = async (page: Page, name: string, shows?: string): Promise<void> => {
  const folder = process.env["PICTURES"];
  if (folder === undefined) return;
  // Nothing is drawn as under the pointer.
  await page.mouse.move(720, 2);
  if (shows !== undefined) await expect(page.getByText(shows).first()).toBeVisible();
  // News that lies over the page goes by itself.
  await expect(page.locator(".toast")).toHaveCount(0);
  await page.screenshot({ path: `${folder}/${name}.png` });
};

const orders = `export default {
  name: "New orders",
  version: "0.1.0",
  description: "An event for each order that the shop sends.",
  props: {
    http: "$.interface.http",
    least: { type: "integer", label: "Least amount", description: "Orders below it are passed over, in cents", default: 0 },
    currencies: { type: "string[]", label: "Currencies", options: ["EUR", "SEK", "USD"] },
  },
  async run({ body }) {
    if (!body?.id) throw new TypeError("an order needs an id");
    if (body.amount < this.least) return console.log("passed over", body.id);
    this.$emit(body, { id: body.id, summary: \`Order \${body.id} of \${body.customer.name}\` });
  },
};
`;

const post = (endpoint: string, body: unknown) =>
  fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });

const label = (street: string) =>
  step(`const order = steps.trigger.event;
    console.log("label for", order.id);
    $.export("$summary", \`Label for order \${order.id}\`);
    return { to: order.customer.name, street: ${street} };`);

test("a source, a workflow on it, a broken step, the mend, fix and finish, and back", async ({ page, server }) => {
  // As long as several specs, and a bound for hangs as there.
  test.setTimeout(240_000);
  // A source from code that is pasted; its form asks for what is required.
  await page.goto("/sources");
  await page.getByRole("link", { name: "New source" }).first().click();
  await page.getByRole("textbox", { name: "Search, or paste a key, a URL or code" }).fill(orders);
  await page.getByRole("button", { name: "Check the code" }).click();
  await expect(page.getByLabel("Least amount")).toBeVisible();
  await page.getByRole("button", { name: "Deploy source" }).click();
  await expect(page.getByRole("alert")).toContainText("1 field needs attention");
  await page.getByRole("combobox", { name: "Currencies" }).click();
  await page.getByRole("option", { name: "EUR" }).click();
  await page.keyboard.press("Escape");
  await page.getByLabel("Least amount").fill("100");
  await expectAccessible(page);
  await picture(page, "deploy-source");
  await page.getByRole("button", { name: "Deploy source" }).click();

  // Its events arrive.
  await expect(page.getByRole("heading", { name: "New orders" })).toBeVisible();
  const endpoint = (await page.locator("code.endpoint").textContent()) ?? "";
  const order = (id: number, street?: string) => ({
    id,
    amount: 4990 + id,
    currency: "EUR",
    customer: { name: "Ada Berg", ...(street === undefined ? {} : { address: { street } }) },
    lines: [{ sku: "wheel-26", count: 2 }, { sku: "bell", count: 1 }],
  });
  for (const id of [1041, 1042, 1043]) await post(endpoint, order(id, `Harbour ${id - 1000}`));
  const events = page.getByRole("table", { name: "Events" });
  await events.getByRole("button", { name: "Order 1042 of Ada Berg" }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("Ada Berg");
  await expectAccessible(page);
  await picture(page, "source", "3 runs, none failed");

  // What it cannot take fails, with the reason.
  await post(endpoint, { amount: 500 });
  await page.getByRole("navigation", { name: "Parts of the source" }).getByRole("link", { name: "Runs" }).click();
  await page.getByRole("link", { name: /an order needs an id/ }).first().click();
  await expect(page.getByText("an order needs an id").first()).toBeVisible();
  await expectAccessible(page);
  await page.goBack();

  // A workflow on it, with a step that does not know every order.
  await page.getByRole("link", { name: "New workflow" }).click();
  await page.getByLabel("Name").fill("Shipping labels");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(page.getByRole("textbox", { name: "Code of code" })).toBeVisible();
  await write(page, "code", label("order.customer.address.street"));
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByRole("tree", { name: "Exports of code" })).toContainText("Ada Berg");
  await expectAccessible(page);
  await picture(page, "builder");
  await page.getByRole("button", { name: "Deploy…" }).click();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await expect(page.getByText("v1 live")).toBeVisible();
  const { pathname } = new URL(page.url());

  // Orders come; those without an address fail.
  for (const id of [1044, 1045]) await post(endpoint, order(id, "Mill lane 3"));
  for (const id of [1046, 1047]) await post(endpoint, order(id));
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Errors" }).click();
  const group = page.getByRole("table", { name: "Errors" }).getByRole("row").filter({ hasText: "street" }).filter({ hasText: "Shipping labels" });
  await expect(group).toBeVisible();
  await expectAccessible(page);
  await picture(page, "errors");
  await page.getByRole("navigation", { name: "Main" }).getByRole("link", { name: "Runs" }).click();
  await picture(page, "runs");
  // Another test's workflow fails with the same words.
  const failed = page.getByRole("table", { name: "Runs" }).getByRole("row").filter({ hasText: "Shipping labels" });
  await failed.getByRole("link", { name: /street/ }).first().click();
  await expect(page.getByText(/Cannot read properties of undefined/).first()).toBeVisible();
  await expectAccessible(page);
  await picture(page, "failed-run");

  // Mended with the event that broke it, deployed, and what failed goes on.
  await page.getByRole("button", { name: "Open in the editor" }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("Ada Berg");
  await write(page, "code", label("order.customer.address?.street ?? 'to be asked for'"));
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByRole("tree", { name: "Exports of code" })).toContainText("to be asked for");
  await page.keyboard.press("ControlOrMeta+Shift+d");
  await expect(page.getByRole("figure", { name: "Changes in code" })).toContainText("to be asked for");
  await picture(page, "deploy");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("button", { name: "Finish 2 failed runs…" }).click();
  await page.getByRole("dialog", { name: "Replay 2 runs" }).getByRole("button", { name: /^Replay/ }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
  // Its runs end after the last of them was queued: the list says so by itself, and nothing offers to finish them again.
  await expect(page.getByRole("table", { name: "Runs of the replay" }).getByRole("row").filter({ hasText: "Succeeded" })).toHaveCount(2);
  await expect(page.getByRole("button", { name: "Finish 2 failed runs…" })).toHaveCount(0);
  const id = pathname.split("/")[2] ?? "";
  const runs = () => server.call<{ kind: string }[]>("GET", `/workflows/${id}/runs?status=succeeded&include=kind`);
  await expect.poll(async () => (await runs()).filter(({ kind }) => kind !== "test").length).toBe(4);

  // And back, all the same.
  await page.goto(`/workflows/${id}/versions`);
  await page.getByRole("button", { name: "Roll back to v1…" }).click();
  await page.getByRole("button", { name: "Roll back to v1", exact: true }).click();
  await expect(page.getByText("v3 live")).toBeVisible();
  await picture(page, "versions");
  await page.goto("/");
  await expect(page.getByRole("list", { name: "Recent runs" })).toContainText("Shipping labels");
  await picture(page, "home");
  await page.getByRole("link", { name: "Map", exact: true }).click();
  await page.getByRole("region", { name: "Workflows" }).getByRole("button", { name: "Shipping labels" }).click();
  await expect(page.getByRole("complementary", { name: "Shipping labels" })).toContainText("New orders events");
  await expectAccessible(page);
  await picture(page, "map");
});

test("a failed run of a source is replayed, and the error stays read", async ({ page, server }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", {
    name: "Counter",
    component_code: `export default { name: "Counter", version: "1", props: { db: "$.service.db" }, run() {
      const tries = (this.db.get("tries") ?? 0) + 1; this.db.set("tries", tries);
      if (tries < 2) throw new RangeError("not yet"); this.$emit({ tries }, { summary: "at last" }); } };`,
  });
  await server.call("POST", `/sources/${source.id}/run`, { event: {} });
  await page.goto(`/sources/${source.id}/runs`);
  await page.getByRole("link", { name: /not yet/ }).first().click();
  await page.getByRole("button", { name: "Replay…" }).first().click();
  await page.getByRole("button", { name: "Replay from the trigger" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
  await expect(page.getByText("Succeeded").first()).toBeVisible();
  await page.goto(`/sources/${source.id}`);
  await expect(page.getByRole("button", { name: "at last" })).toBeVisible();
});

test("nothing typed is lost while the server is away: the form of a source, and code in the builder", async ({ page, server, messages }) => {
  const made = await workflow(server, "Kept", { one: step("return 1;") });
  const component = await server.call<{ id: string }>("POST", "/components", { component_code: orders.replace("New orders", "Kept orders") });
  await page.goto(`/sources?action=create&component=${component.id}`);
  await page.getByLabel("Least amount").fill("250");
  await page.getByRole("combobox", { name: "Currencies" }).click();
  await page.getByRole("option", { name: "SEK" }).click();
  await page.keyboard.press("Escape");
  await server.kill();
  await page.getByRole("button", { name: "Deploy source" }).click();
  await expect(page.getByRole("alert").filter({ hasText: "The source was not deployed" })).toBeVisible();
  await server.start();
  await page.getByRole("button", { name: "Deploy source" }).click();
  await expect(page.getByRole("heading", { name: "Kept orders" })).toBeVisible();

  await page.goto(`/workflows/${made.id}/edit`);
  await write(page, "one", step("return 'typed before';"));
  await server.kill();
  await write(page, "one", step("return 'typed while it was away';"));
  await expect(page.getByText(/^Not saved/)).toBeVisible();
  await server.start();
  await page.reload();
  await expect(page.getByRole("textbox", { name: "Code of one" })).toContainText("typed while it was away");
  // It is saved by itself: before the page was read again, or after.
  const record = () => server.call<object>("GET", `/workflows/${made.id}`);
  await expect.poll(async () => JSON.stringify(await record())).toContain("typed while it was away");
  // The browser writes each request that no server answered to its console, and the refusal after one whose answer alone was lost.
  expect(messages.splice(0).filter((message) => !/ERR_|Failed to fetch|status of (412|5)/.test(message))).toEqual([]);
});
