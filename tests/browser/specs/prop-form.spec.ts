// The form of props: options that the component is asked for, props that it says anew, accounts; and what is typed in a dialog.
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import type { Page } from "@playwright/test";
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, expectOpenListAccessible, test } from "../fixtures/test.ts";

const code = `export default {
  name: "Asks", version: "0.1.0",
  props: {
    sheet: {
      type: "string", label: "Sheet", useQuery: true, optional: true,
      options({ page, query, prevContext }) {
        const all = ["Orders", "Payouts", "Returns", "Stock", "Suppliers"].filter((each) => each.toLowerCase().includes((query ?? "").toLowerCase()));
        const from = prevContext?.from ?? 0;
        return { options: all.slice(from, from + 3).map((label) => ({ label, value: "sheet_" + label })), context: { from: from + 3 } };
      },
    },
    region: { type: "string", label: "Region", optional: true },
    shelf: {
      type: "string", label: "Shelf", optional: true,
      options() {
        if (!this.region) throw new Error("no region, no shelf");
        return ["A1", "B2"];
      },
    },
    slow: { type: "string", label: "Slow", optional: true, options: () => new Promise(() => setInterval(() => {}, 1_000)) },
    kind: { type: "string", label: "Kind", optional: true, options: ["letter", "parcel"], reloadProps: true },
  },
  additionalProps() {
    return this.kind ? { weight: { type: "integer", label: "Weight of the " + this.kind, optional: true } } : {};
  },
  run() {},
};`;

const field = (page: Page, name: string) => page.getByRole("combobox", { name, exact: true });
const choose = (page: Page, name: string) => page.getByRole("option", { name }).click();

test("options come by pages and by search; their errors are asked again; what takes long is stopped", async ({ page, server }) => {
  const made = await server.call<{ id: string }>("POST", "/sources", { name: "Asks", component_code: code });
  await page.goto(`/sources/${made.id}/configure`);

  await field(page, "Sheet").click();
  const options = page.getByRole("option");
  await expect(options).toHaveText(["Orderssheet_Orders", "Payoutssheet_Payouts", "Returnssheet_Returns"]);
  await expectOpenListAccessible(page);
  await page.getByRole("button", { name: "Load more" }).click();
  await expect(options).toHaveCount(5);
  await expect(field(page, "Sheet")).toBeFocused();
  await field(page, "Sheet").fill("su");
  await expect(options).toHaveText(["Supplierssheet_Suppliers"]);
  await choose(page, "Suppliers");
  await expect(field(page, "Sheet")).toHaveValue("Suppliers");

  await field(page, "Shelf").click();
  await expect(page.getByRole("alert")).toContainText("no region, no shelf");
  // By keys the list ends at the buttons below it.
  await page.keyboard.press("ArrowDown");
  await expect(page.getByRole("button", { name: "Retry" })).toBeFocused();
  await page.keyboard.press("Escape");
  await expect(field(page, "Shelf")).toBeFocused();
  await page.getByLabel("Region").fill("north");
  await field(page, "Shelf").click();
  await choose(page, "B2");

  await field(page, "Slow").click();
  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByText("Stopped", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Retry" }).click();
  await expect(page.getByText("Loading")).toBeVisible();
  await page.keyboard.press("Escape");
  await expectAccessible(page);

  await page.getByRole("button", { name: "Save", exact: true }).click();
  const stored = async () => (await server.call<{ configured_props: object }>("GET", `/sources/${made.id}`)).configured_props;
  await expect.poll(stored).toMatchObject({ sheet: "sheet_Suppliers", region: "north", shelf: "B2" });
});

test("a component says its props anew: what was typed stays, and what is optional is taken away again", async ({ page, server }) => {
  const made = await server.call<{ id: string }>("POST", "/sources", { name: "Says anew", component_code: code });
  await page.goto(`/sources/${made.id}/configure`);
  await page.getByLabel("Region").fill("south");
  await field(page, "Kind").click();
  await expect(page.getByRole("option", { name: "No value" })).toHaveCount(0);
  await expectOpenListAccessible(page);
  await choose(page, "parcel");
  await page.getByLabel("Weight of the parcel").fill("7");
  await expect(field(page, "Kind")).toContainText("parcel");
  await expect(page.getByLabel("Region")).toHaveValue("south");
  await field(page, "Kind").click();
  await choose(page, "letter");
  await expect(page.getByLabel("Weight of the letter")).toHaveValue("7");

  // By keys, too.
  await field(page, "Kind").focus();
  await page.keyboard.press("Enter");
  await page.keyboard.press("Home");
  await expect(page.getByRole("option", { name: "No value" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(field(page, "Kind")).toContainText("Choose");
  await expect(page.getByLabel("Weight of the letter")).toHaveCount(0);
  await expectAccessible(page);

  // Back to what is stored, the props are those of the stored values.
  await field(page, "Kind").click();
  await choose(page, "parcel");
  await expect(page.getByLabel("Weight of the parcel")).toBeVisible();
  await page.getByRole("button", { name: "Discard changes" }).click();
  await expect(page.getByLabel("Weight of the parcel")).toHaveCount(0);
});

test.describe("accounts", () => {
  let provider: ChildProcess;
  let url = "";
  test.beforeAll(async () => {
    provider = spawn("node", [new URL("../../peers/oauth.mjs", import.meta.url).pathname], { stdio: ["pipe", "pipe", "inherit"] });
    if (provider.stdout === null) throw new Error("the provider has no output");
    const [said] = await once(provider.stdout, "data");
    // The port may come in a colour.
    url = `http://127.0.0.1:${/\d{4,5}/.exec(String(said))?.[0]}`;
  });
  test.afterAll(() => {
    provider.stdin?.end();
  });

  test("an account is connected in a window of its own, chosen at once, and taken away", async ({ page }) => {
    // The provider is at an address that a server reaches only where it may.
    const server = await startServer(["--egress-allow", "127.0.0.1/32"]);
    await page.context().setExtraHTTPHeaders({});
    await page.goto(server.setupUrl());
    await page.getByLabel("Your name").fill("Mara Lindqvist");
    await page.getByLabel("E-mail").fill("mara@northgate.example");
    await page.getByLabel("Password", { exact: true }).fill("a wheel in the race");
    await page.keyboard.press("Enter");
    await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
    await server.call("POST", "/apps", {
      name_slug: "acme",
      name: "Acme",
      auth_type: "oauth",
      oauth: { authorize_url: `${url}/authorize`, token_url: `${url}/token`, scopes: ["long"], client_id: "client", client_secret: "s3cret" },
    });
    const made = await server.call<{ id: string }>("POST", "/sources", {
      name: "Of Acme",
      component_code: `export default { name: "Of Acme", version: "1", props: { acme: { type: "app", app: "acme", optional: true } }, run() {} };`,
    });
    await page.goto(`${server.url}/sources/${made.id}/configure`);
    await page.getByRole("button", { name: "Connect Acme…" }).click();
    await expectAccessible(page);
    const popup = page.waitForEvent("popup");
    await page.getByRole("dialog").getByLabel("Name").fill("Shop of the north");
    await page.getByRole("button", { name: "Open Acme" }).click();
    const opened = await popup;
    // The page has no hold of a window of another origin, so the user closes it.
    await expect(opened.getByText(/of Acme is connected. You may close this page/)).toBeVisible();
    await opened.close();
    await expect(page.getByText("Shop of the north is connected")).toBeVisible();
    const account = page.getByRole("combobox", { name: "acme" });
    await expect(account).toContainText("Shop of the north");
    await expect(page.getByRole("button", { name: "Connect another…" })).toBeVisible();
    await expectAccessible(page);

    await account.click();
    await expect(page.getByRole("option", { name: "Shop of the north" })).toHaveAttribute("aria-selected", "true");
    await expectOpenListAccessible(page);
    await choose(page, "No value");
    await expect(account).toContainText("Choose an account");
    await page.close();
    await server.stop();
  });
});

test("a picker finds what is beyond the first hundred", async ({ page, server }) => {
  const stores = Array.from({ length: 104 }, (_, at) => `Store ${String(at).padStart(3, "0")}`);
  for (const name of stores) await server.call("POST", "/data_stores", { name });
  const made = await server.call<{ id: string }>("POST", "/sources", {
    name: "Of a store",
    component_code: `export default { name: "Of a store", version: "1", props: { store: { type: "data_store", label: "Store", optional: true } }, run() {} };`,
  });
  await page.goto(`/sources/${made.id}/configure`);
  for (const name of ["Store 000", "Store 103"]) {
    await field(page, "Store").fill(name);
    await choose(page, name);
    await expect(field(page, "Store")).toHaveValue(name);
    // A list that closes gives the field the name of what was chosen.
    await expect(page.getByRole("listbox")).toHaveCount(0);
  }
});

test("a save leaves a secret that is set, and an emptied field goes back to its default", async ({ page, server }) => {
  const made = await server.call<{ id: string }>("POST", "/sources", {
    component_code: `export default { name: "Defaults", version: "1",
      props: { token: { type: "string", secret: true, optional: true, default: "of the code" }, n: { type: "integer", label: "Number", optional: true, default: 5 } },
      run() { this.$emit({ token: this.token }); } };`,
    configured_props: { token: "my own", n: 7 },
  });
  await page.goto(`/sources/${made.id}/configure`);
  await page.getByLabel("Number", { exact: true }).fill("");
  await expect(page.getByText("Without a value, the default 5 applies.")).toBeVisible();
  await expect(page.getByRole("list", { name: "Changes" })).toHaveText(/^n\W*7\W+5$/);
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByText("Saved", { exact: true })).toBeVisible();
  await expect(page.getByLabel("Number", { exact: true })).toHaveValue("5");
  await server.call("POST", `/sources/${made.id}/run`, { event: {} });
  const events = async () => JSON.stringify(await server.call("GET", `/sources/${made.id}/event_summaries?expand=event`));
  await expect.poll(events).toContain('"token":"my own"');
});
