// Pictures of every page, for whoever changes how they look: PICTURES=folder npx playwright test pictures
import { mkdir } from "node:fs/promises";
import { test as base, type Page } from "@playwright/test";
import { hard, ofShop as pages, plain, type Shop, shop } from "../fixtures/shop.ts";
import { startServer, type Server } from "../fixtures/server.ts";

const folder = process.env["PICTURES"];
const only = process.env["PAGES"]?.split(",");
const test = base.extend<{ server: Server }>({
  server: async ({}, use) => {
    const server = await startServer();
    await use(server);
    await server.stop();
  },
});

test.skip(folder === undefined, "PICTURES names no folder");
test.setTimeout(1_800_000);

type Act = (page: Page) => Promise<void>;
type View = [name: string, path: string, act?: Act];

/** Presses it, unless this width does not show it. */
const press = (name: string | RegExp): Act => async (page) => {
  const button = page.getByRole("button", { name }).first();
  if (await button.isVisible()) await button.click();
};
const tab = (name: string): Act => async (page) => page.getByRole("tab", { name }).click();
const keys = (...all: string[]): Act => async (page) => {
  for (const key of all) await page.keyboard.press(key);
};

const ofShop = (made: Shop): View[] =>
  pages(made).map(([name, path]) =>
    name === "source-events" ? [name, path, async (page) => {
      const event = page.locator("table button").first();
      if (await event.isVisible()) await event.click();
    }] : [name, path],
  );

const dialogs = (made: Shop): View[] => [
  ["palette", "/runs", keys("ControlOrMeta+k")],
  ["palette-found", "/runs", async (page) => { await page.keyboard.press("ControlOrMeta+k"); await page.keyboard.type("or"); }],
  ["sheet", "/runs", keys("?")],
  ["replay", `/runs/${made.failed}`, press("Replay…")],
  ["deploy", `/workflows/${made.failing}/edit`, press("Deploy…")],
  ["add-step", `/workflows/${made.failing}/edit`, press("Add a step")],
  ["account-new", "/accounts", press(/Connect|New account/)],
  ["key-new", "/settings/keys", press(/New key/)],
  ["member-new", "/settings/members", press("Invite")],
  ["webhook-new", "/webhooks", press(/New webhook/)],
  ["as-command", `/runs/${made.failed}`, press("As command")],
  ["compare-versions", `/sources/${made.timer}/versions`, press(/^Compare v1/)],
  ["go-back", `/sources/${made.timer}/versions`, press("Roll back to v1…")],
  ["columns", "/runs", press("Columns")],
  ["handle-errors", `/errors/${made.group}`, press("Handle these with a workflow…")],
  ["as-json", `/sources/${made.source}/configure`, press("Show as JSON")],
  ["map-wheel", `/map?at=${made.failing}`],
  ["runs-selected", "/runs", keys("j", "x", "j", "x")],
  ["runs-columns", "/runs", press("Columns")],
  ["runs-none", "/runs?status=cancelled"],
  ["runs-found", "/runs?q=nothing-has-this"],
  ["filter", "/runs", press("Filter")],
  ["views", "/runs", press("Views")],
  ["resume", `/runs/${made.paused}`, press("Resume…")],
  ["run-input", `/runs/${made.failed}?step=create_label&tab=code`],
  ["run-trigger", `/runs/${made.failed}?step=%24trigger`],
  ["source-run-now", `/sources/${made.timer}`, press("Run now")],
  ["source-delete", `/sources/${made.timer}/configure`, press("Delete…")],
  ["source-changed", `/sources/${made.timer}/configure`, async (page) => page.getByLabel("Shelf").fill("C3")],
  ["source-find", "/sources/new", async (page) => {
    await page.getByRole("textbox", { name: "Search, or paste a key, a URL or code" }).fill("rss");
    await page.keyboard.press("Enter");
  }],
  ["form-wrong", `/sources?action=create&component=${made.form}`, press("Deploy source")],
  ["form-account", `/sources?action=create&component=${made.form}`, async (page) => page.getByRole("combobox").first().click()],
  ["builder-configure", `/workflows/${made.failing}/edit?step=check_stock`, tab("Configure")],
  ["builder-settings", `/workflows/${made.failing}/edit?step=check_stock`, tab("Settings")],
  ["builder-tested", `/workflows/${made.failing}/edit?step=check_stock&run=${made.failed}`, async (page) => {
    await page.keyboard.press("ControlOrMeta+Enter");
    await page.getByRole("tree", { name: "Exports of check_stock" }).waitFor();
  }],
  ["builder-event", `/workflows/${made.failing}/edit`, press("Edit a copy")],
  ["builder-events", `/workflows/${made.failing}/edit`, async (page) => page.locator(".event-pick").click()],
  ["builder-menu", `/workflows/${made.failing}/edit`, press("More")],
  ["trigger-add", `/workflows/${made.failing}/edit?step=trigger`, press("Add a trigger")],
  ["trigger-timer", `/workflows/${made.ledger}/edit?step=trigger`],
  ["key-once", "/settings/keys", async (page) => {
    await press(/New key/)(page);
    await page.getByLabel("Name").fill("ci");
    await page.keyboard.press("ControlOrMeta+Enter");
  }],
  ["replay-done", `/replays/${made.replay}`],
  ["account-unhealthy", `/accounts/${made.account}`, press("Test")],
  ["lost", "/runs", async (page) => {
    await page.route("**/v1/**", (route) => route.abort());
    await page.getByRole("button", { name: "Failed or paused" }).click();
    await page.getByText("No connection").first().waitFor();
    await page.unroute("**/v1/**");
  }],
];

/** Signs the page in as the person that the server waits for. */
async function settle(page: Page, server: Server): Promise<void> {
  await page.goto(server.setupUrl());
  await page.getByLabel("Your name").fill("Mara Lindqvist");
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await page.keyboard.press("Enter");
  await page.getByRole("heading", { name: "Home" }).waitFor();
}

type Size = "light" | "dark" | "narrow";

/** `settled`: what a page waits for has come; else it is taken as it waits. */
async function take(page: Page, set: string, views: View[], sizes: Size[], settled = true): Promise<void> {
  await mkdir(folder ?? "", { recursive: true });
  for (const [name, path, act] of views) {
    if (only !== undefined && !only.includes(name)) continue;
    for (const size of sizes) {
      await page.setViewportSize(size === "narrow" ? { width: 380, height: 800 } : { width: 1440, height: 900 });
      await page.emulateMedia({ colorScheme: size === "dark" ? "dark" : "light", reducedMotion: "reduce" });
      await page.goto(new URL(path, page.url()).href);
      // The one stream never ends: quiet is when nothing is shown to load.
      await page.waitForLoadState("load");
      // Before its script has drawn it, a page has nothing that waits.
      await page.waitForTimeout(600);
      if (settled) await page.locator("[aria-busy=true], .skeleton").first().waitFor({ state: "detached", timeout: 10_000 }).catch(() => undefined);
      await page.waitForTimeout(200);
      await act?.(page).catch((error: unknown) => console.warn(`${set}-${name}-${size}`, String(error).split("\n")[0]));
      if (act !== undefined) await page.waitForTimeout(400);
      await page.screenshot({ path: `${folder}/${set}-${name}-${size}.png` });
      const wide = await page.evaluate(() => document.documentElement.scrollWidth - window.innerWidth);
      if (wide > 0) console.warn(`${set}-${name}-${size} is ${wide} px too wide`);
    }
  }
}

test("pages of a shop", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await settle(page, server);
  const made = await shop(server);
  await take(page, "shop", [...plain, ...ofShop(made), ...dialogs(made)], ["light", "dark", "narrow"]);
});

test("pages of an organization with nothing in it", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await page.goto(server.setupUrl());
  await take(page, "out", [["setup", new URL(server.setupUrl()).pathname], ["login", "/login"]], ["light", "dark", "narrow"]);
  await settle(page, server);
  await take(page, "empty", plain, ["light", "narrow"]);
});

test("pages with long names", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await settle(page, server);
  const made = await shop(server, true);
  await take(page, "long", [...plain, ...ofShop(made), ...dialogs(made)], ["light", "narrow"]);
});

test("pages of long workflows, long errors and deep events", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await settle(page, server);
  await take(page, "hard", await hard(server), ["light", "narrow"]);
});

test("pages whose data the server fails to give, and pages of a viewer", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await settle(page, server);
  const made = await shop(server);
  await page.route("**/v1/session", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { data: object };
    await route.fulfill({ response: answer, json: { data: { ...body.data, role: "viewer", scopes: ["read"] } } });
  });
  await take(page, "viewer", [...plain, ...ofShop(made)], ["light"]);
  await page.route(/\/v1\/(?!session$|stream)/, (route) =>
    route.fulfill({ status: 500, json: { error: "the database did not answer", code: "internal" }, headers: { "x-request-id": "req_4Tz81" } }),
  );
  await take(page, "error", [...plain, ...ofShop(made)], ["light"]);
});

test("pages that wait for their data", async ({ page, server }) => {
  page.setDefaultTimeout(5000);
  await settle(page, server);
  const made = await shop(server);
  await page.route(/\/v1\/(?!session$|stream)/, () => undefined);
  await take(page, "loading", [...plain, ...ofShop(made)], ["light"], false);
});
