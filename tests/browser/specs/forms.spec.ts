// Every form of the first half, with a server that is killed once it is filled in: what was typed stays, the form says what happened, and it goes on.
import { expect, type Locator, type Page, test } from "@playwright/test";
import { join } from "../fixtures/people.ts";
import { type Server, startServer } from "../fixtures/server.ts";
import { step, workflow } from "../fixtures/workflows.ts";

let server: Server;
test.beforeAll(async () => {
  server = await startServer();
});
test.afterAll(async () => {
  await server.stop();
});

/** Sends the form while there is no server, and again once there is one. `field` is what was typed in, `done` what shows that it went through. */
async function goesOn(page: Page, about: string, field: Locator, submit: () => Promise<void>, done: () => Promise<void>): Promise<void> {
  await test.step(about, async () => {
    const typed = (await field.inputValue().catch(() => field.textContent())) ?? "";
    expect(typed).not.toBe("");
    await server.kill();
    await submit();
    await expect(page.getByRole("alert").filter({ hasText: /server|connection/i }).first()).toBeVisible();
    expect((await field.inputValue().catch(() => field.textContent())) ?? "").toBe(typed);
    await server.start();
    await submit();
    await done();
  });
}

test("a server that ends under a form loses nothing that was typed, and the form goes on with the next one", async ({ page }) => {
  // Sixteen forms, each with a server that starts anew.
  test.setTimeout(300_000);
  page.setDefaultTimeout(60_000);
  const button = (name: string) => page.getByRole("button", { name, exact: true });
  const press = (name: string) => () => button(name).click();
  const dialogGone = async () => expect(page.getByRole("dialog")).toHaveCount(0);
  const stored = async () => {
    await page.getByRole("checkbox", { name: "I stored it" }).click();
    await button("Done").click();
    await dialogGone();
  };

  await page.goto(server.setupUrl());
  await page.getByLabel("Your name").fill("Mara Lindqvist");
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await goesOn(page, "first visit", page.getByLabel("Your name"), () => page.keyboard.press("Enter"), async () => {
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  });

  await page.goto(`${server.url}/settings`);
  await page.getByLabel("Name").fill("Northgate");
  await goesOn(page, "organization", page.getByLabel("Name"), press("Save"), async () => {
    await expect(page.getByText("Saved", { exact: true }).first()).toBeVisible();
  });

  await page.goto(`${server.url}/settings/keys`);
  await button("New key").click();
  await page.getByLabel("Name").fill("ci");
  await goesOn(page, "API key", page.getByLabel("Name"), press("Create key"), stored);
  await expect(page.getByRole("table", { name: "API keys" })).toContainText("ci");

  await page.goto(`${server.url}/settings/members`);
  await button("Invite").click();
  await page.getByLabel("E-mail").fill("jo@northgate.example");
  await goesOn(page, "invitation", page.getByLabel("E-mail"), press("Create link"), stored);

  await page.goto(`${server.url}/settings/sessions`);
  await button("Change password…").click();
  await page.getByLabel("Current password").fill("a wheel in the race");
  await page.getByLabel("New password").fill("another wheel in the race");
  await goesOn(page, "password", page.getByLabel("New password"), press("Change password"), dialogGone);

  await page.goto(`${server.url}/settings/oauth-clients`);
  await button("New client").click();
  await page.getByLabel("Name").fill("back office");
  await goesOn(page, "OAuth client", page.getByLabel("Name"), press("Create client"), stored);

  await page.goto(`${server.url}/data`);
  await button("New data store").click();
  await page.getByLabel("Name").fill("Seen orders");
  await goesOn(page, "data store", page.getByLabel("Name"), press("Create data store"), async () => {
    await expect(page.getByRole("heading", { name: "Seen orders" })).toBeVisible();
  });
  await button("Add").first().click();
  await page.getByRole("textbox", { name: "Key" }).fill("cursor");
  await page.getByRole("textbox", { name: "Value" }).fill("10498");
  await goesOn(page, "record", page.getByRole("textbox", { name: "Value" }), press("Save"), async () => {
    await expect(page.getByRole("table", { name: "Keys" })).toContainText("cursor");
  });

  await page.goto(`${server.url}/webhooks`);
  await button("New webhook").first().click();
  await page.getByLabel("URL").fill("https://erp.northgate.example/orders");
  await page.getByLabel("Name").fill("ERP bridge");
  await goesOn(page, "webhook", page.getByLabel("URL"), press("Create webhook"), async () => {
    await stored();
    await expect(page.getByRole("heading", { name: "ERP bridge" })).toBeVisible();
  });

  await server.call("POST", "/apps", { name_slug: "shop", name: "Northgate Shop", auth_type: "keys", custom_fields: [{ name: "api_key", label: "API key" }] });
  await page.goto(`${server.url}/accounts`);
  await button("Connect account").first().click();
  await page.getByLabel("App name").fill("Northgate");
  await page.getByRole("list", { name: "Apps" }).getByRole("button", { name: /Northgate Shop/ }).click();
  await page.getByLabel("API key").fill("k-7");
  await goesOn(page, "account", page.getByLabel("API key"), press("Connect"), dialogGone);
  await page.getByRole("button", { name: /^Actions for/ }).click();
  await page.getByRole("menuitem", { name: "Rename…" }).click();
  await page.getByRole("textbox", { name: "Name" }).fill("Northgate live");
  await goesOn(page, "name of an account", page.getByRole("textbox", { name: "Name" }), press("Rename"), dialogGone);
  await expect(page.getByRole("table", { name: "Accounts" })).toContainText("Northgate live");

  const source = await server.call<{ id: string }>("POST", "/sources", {
    name: "Changelogs",
    component_code: `export default { name: "x", version: "1", props: { shelf: { type: "string", label: "Shelf", default: "A1" } }, run() { this.$emit({ n: 1 }); } };`,
  });
  await page.goto(`${server.url}/sources/${source.id}/configure`);
  await page.getByLabel("Shelf").fill("B2");
  await goesOn(page, "props of a source", page.getByLabel("Shelf"), press("Save"), async () => {
    await expect.poll(async () => JSON.stringify(await server.call("GET", `/sources/${source.id}`))).toContain("B2");
  });
  await button("Run now").click();
  const event = page.getByRole("dialog").getByRole("textbox", { name: "Event" });
  await event.fill(`{"n": 7}`);
  await goesOn(page, "event of a run", event, () => page.getByRole("dialog").getByRole("button", { name: "Run now" }).click(), dialogGone);

  await page.goto(`${server.url}/workflows/new`);
  await page.getByLabel("Name").fill("Fulfilment");
  await goesOn(page, "workflow", page.getByLabel("Name"), press("Create workflow"), async () => {
    await expect(page).toHaveURL(/\/workflows\/p_\w+\/edit/);
  });
  const made = await workflow(server, "Ledger", { one: step("return 1;") });
  await page.goto(`${server.url}/workflows/${made.id}/settings`);
  await page.getByLabel("Name").fill("Ledger of payouts");
  await goesOn(page, "settings of a workflow", page.getByLabel("Name"), press("Save settings"), async () => {
    await expect(page.getByRole("heading", { name: "Ledger of payouts" })).toBeVisible();
  });

  await page.goto(`${server.url}/listeners`);
  await button("New listener").first().click();
  await page.getByRole("combobox", { name: "Emitter" }).fill("Changelogs");
  await page.getByRole("option", { name: /Changelogs/ }).first().click();
  await page.getByRole("combobox", { name: "Listener" }).fill("Ledger");
  await page.getByRole("option", { name: /Ledger/ }).first().click();
  await goesOn(page, "listener", page.getByRole("combobox", { name: "Listener" }), press("Create listener"), dialogGone);

  await page.getByRole("button", { name: "Mara Lindqvist" }).click();
  await page.getByRole("menuitem", { name: "Sign out" }).click();
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByLabel("Password", { exact: true }).fill("another wheel in the race");
  await goesOn(page, "sign-in", page.getByLabel("E-mail"), press("Sign in"), async () => {
    await expect(page.getByRole("button", { name: "Mara Lindqvist" })).toBeVisible();
  });
});

test("a viewer is told once why the forms of a page are locked", async ({ browser }) => {
  const source = await server.call<{ id: string }>("POST", "/sources", { name: "Looked at", component_code: `export default { name: "Looked at", version: "1", run() {} };` });
  const made = await workflow(server, "Looked at", { one: step("return 1;") });
  const page = await join(browser, server, "Vera Told", "viewer");
  for (const path of [`/sources/${source.id}/configure`, `/workflows/${made.id}/settings`]) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: "Retention", exact: true })).toBeVisible();
    await expect(page.getByLabel("Days to keep")).toBeDisabled();
    await expect(page.locator("#main").getByText(/^Viewers cannot deploy/)).toHaveCount(1);
  }
  await page.context().close();
});
