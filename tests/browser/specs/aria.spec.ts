// What a screen reader is given of the main pages, as snapshots in tests/browser/aria: `npx playwright test aria --update-snapshots`
// writes them anew, and the difference is read like code. Times, ids and durations are patterns in them.
import { startServer } from "../fixtures/server.ts";
import { expect, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";
import type { Page } from "@playwright/test";

const main = (page: Page) => page.getByRole("main");
const settled = async (page: Page) => {
  await expect(page.locator("[aria-busy=true], .skeleton")).toHaveCount(0);
};

test("pages of an organization with nothing in it", async ({ browser }) => {
  const server = await startServer();
  const context = await browser.newContext({ baseURL: server.url, extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  const pages: [name: string, path: string, heading: string][] = [
    ["runs-empty", "/runs", "Runs"],
    ["errors-empty", "/errors", "Errors"],
    ["workflows-empty", "/workflows", "Workflows"],
    ["workflow-new", "/workflows/new", "New"],
    ["sources-empty", "/sources", "Sources"],
    ["listeners-empty", "/listeners", "Listeners"],
    ["accounts-empty", "/accounts", "Accounts"],
    ["data-empty", "/data", "Data"],
    ["members", "/settings/members", "Settings"],
  ];
  await page.goto("/");
  await expect(page.getByRole("heading", { name: "Nothing is running yet. Send a first event." })).toBeVisible();
  await expect(page.getByRole("navigation", { name: "Main" })).toMatchAriaSnapshot({ name: "navigation.aria.yml" });
  for (const [name, path, heading] of pages) {
    await page.goto(path);
    await expect(page.getByRole("heading", { name: heading }).first()).toBeVisible();
    await settled(page);
    await expect(main(page)).toMatchAriaSnapshot({ name: `${name}.aria.yml` });
  }
  await context.close();
  await server.stop();
});

test("the builder, its deploy, a failed run and its replay", async ({ page, server }) => {
  const made = await workflow(server, "Read aloud", { load: step("return 1;"), check: step("throw new RangeError('too much');") });
  const run = await send(server, made, { n: 1 });
  await page.goto(`/workflows/${made.id}/edit?step=load&run=${run}`);
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  await expect(cards.getByRole("button", { name: /^check/ })).toContainText("failed");
  await expect(cards).toMatchAriaSnapshot({ name: "builder-cards.aria.yml" });
  await expect(page.getByRole("region", { name: "Step load" }).getByRole("tablist")).toMatchAriaSnapshot({ name: "builder-tabs.aria.yml" });
  await page.getByRole("button", { name: "Add a step" }).click();
  await expect(page.getByRole("dialog")).toMatchAriaSnapshot({ name: "add-step.aria.yml" });
  await page.keyboard.press("Escape");
  await page.getByRole("button", { name: "Deploy…" }).click();
  await expect(page.getByRole("dialog")).toContainText("No changes from the live version");
  await expect(page.getByRole("dialog")).toMatchAriaSnapshot({ name: "deploy.aria.yml" });

  await page.goto(`/runs/${run}`);
  const error = page.getByRole("tabpanel", { name: "Error" });
  await expect(error).toContainText("too much");
  await expect(page.getByRole("tablist")).toMatchAriaSnapshot({ name: "run-tabs.aria.yml" });
  await page.getByRole("button", { name: "Replay…", exact: true }).click();
  await expect(page.getByRole("dialog").locator(".replay-pick")).toMatchAriaSnapshot({ name: "replay.aria.yml" });
});
