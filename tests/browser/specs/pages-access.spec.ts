// Pages that no other spec looks at by axe, with something on them: both themes, and narrow.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { workflow, step } from "../fixtures/workflows.ts";

test("lists of components, registries, apps, accounts, listeners, webhooks, stores, keys and domains are accessible, wide and narrow", async ({ page, server }) => {
  const made = await workflow(server, "Listens", { one: step("return 1;") });
  await server.call("POST", "/components", { component_code: `export default { key: "axe_action", name: "Of axe", version: "1", type: "action", run() {} };` });
  await server.call("POST", "/apps", { name_slug: "axe_shop", name: "Axe Shop", auth_type: "keys", custom_fields: [{ name: "api_key", label: "API key" }] });
  await server.call("POST", "/accounts", { app: "axe_shop", name: "Shop of the north", credentials: { api_key: "k" } });
  const webhook = await server.call<{ id: string }>("POST", "/webhooks", { url: "https://erp.example/orders", name: "ERP" });
  await server.call("POST", `/subscriptions?emitter_id=${made.id}&listener_id=${webhook.id}&event_name=%24errors`);
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Seen" });
  await server.call("PUT", `/data_stores/${store.id}/record`, { key: "cursor", value: { at: 7 } });

  await server.call("POST", "/oauth/clients", { name: "back office", scopes: ["read"] });
  // A file store is there with its first file.
  await fetch(`${server.url}/v1/file_stores/labels/files?path=one.txt`, { method: "PUT", headers: { authorization: `Bearer ${server.key}` }, body: "one" });

  const pages: [string, string | RegExp][] = [
    ["/components", "Components"],
    ["/registries", "Registries"],
    ["/apps", "Apps"],
    ["/apps/axe_shop", "Axe Shop"],
    ["/accounts", "Accounts"],
    ["/listeners", "Listeners"],
    ["/webhooks", "Webhooks"],
    [`/webhooks/${webhook.id}`, "ERP"],
    ["/data", "Data"],
    [`/data/${store.id}`, "Seen"],
    ["/files/labels", "labels"],
    ["/settings/keys", /keys/i],
    ["/settings/domains", /domains/i],
    ["/settings/oauth-clients", /clients/i],
    ["/settings/audit", /audit/i],
    ["/settings/notifications", "Error mail"],
    ["/settings/retention", "Retention"],
  ];
  for (const width of [1440, 380]) {
    await page.setViewportSize({ width, height: 800 });
    for (const [address, heading] of pages) {
      await test.step(`${address}, ${width} px`, async () => {
        await page.goto(address);
        await expect(page.getByRole("heading", { name: heading }).first()).toBeVisible();
        await expect(page.locator(".skeleton")).toHaveCount(0);
        await expectAccessible(page);
        expect(await page.evaluate(() => document.documentElement.scrollWidth), "no sideways scroll").toBeLessThanOrEqual(width);
        if (process.env["SHOTS"] !== undefined) await page.screenshot({ path: `${process.env["SHOTS"]}/page${address.replaceAll("/", "_")}-${width}.png` });
      });
    }
  }
});

test("a dialog asks for what is empty, and a refusal stands beside its field", async ({ page, server, messages }) => {
  await page.goto(`${server.url}/webhooks`);
  await page.getByRole("button", { name: "New webhook" }).first().click();
  const dialog = page.getByRole("dialog");
  const address = dialog.getByLabel("URL");
  const make = dialog.getByRole("button", { name: "Create webhook" });
  await make.click();
  await expect(dialog.getByText("URL is required.")).toBeVisible();
  await expect(address).toBeFocused();
  await address.fill("ftp://x");
  await expect(dialog.getByText("URL is required.")).toHaveCount(0);
  await make.click();
  await expect(address).toHaveAccessibleDescription(/starts with http/);
  await expect(address).toBeFocused();
  await expect(dialog.getByRole("alert")).toContainText("1 field needs attention");
  // The browser tells of each refusal.
  expect(messages.splice(0).every((message) => message.includes("422"))).toBe(true);
});
