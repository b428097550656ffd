// A viewer's walk over every page: all can be read, nothing is offered that the server would refuse, and what an owner may do is
// there too, locked with the reason.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join as path } from "node:path";
import type { Browser, Page } from "@playwright/test";
import { type Control, controlsOf, controlsOfPage } from "../fixtures/controls.ts";
import { join, stranger } from "../fixtures/people.ts";
import type { Server } from "../fixtures/server.ts";
import { pagesOf, plain, shop, type Shop } from "../fixtures/shop.ts";
import { expect, test } from "../fixtures/test.ts";

/** Words that an act begins with which changes something; `test, 2 steps` is the name of a run. */
const changes =
  /^(new|create|make|add|save|deploy|delete|remove(?! the filter)|rename|invite|connect|reconnect|disconnect|publish|unpublish|replay|retry|cancel|resume|run now|run the|test(?!, \d+ step)|roll back|go back|discard|upload|revoke|rotate|resolve|ignore|reopen|edit a|edit the|attach|detach|pin|unpin|send|bring|update|end|move|duplicate|turn|withdraw|schedule|rss)\b/i;

/** Fields that choose what is shown. */
const reads = /search|filter|words|^step$|^actor$|^data shown$|^registry$|^code of|keys that start|^from|^until|^select|wrap|levels?$|follow/i;

/** What a role does not see because the server does not tell it: who is invited, and what the server is made of. */
const toldToOwners = /^(revoke the invitation|run checks|role of)/i;

/** Not there, or, of sessions, not there for a browser that a key signs in. */
const isGone = (name: string): boolean => ["gone", "not-there", "sessions"].includes(name);

/** Opens a page, and waits until it is read. */
async function open(page: Page, address: string): Promise<void> {
  await page.goto(address);
  await expect(page.locator("#main :is(h1, h2, p)").filter({ visible: true }).first()).toBeVisible();
  await expect(page.locator(".skeleton, [aria-busy=true]")).toHaveCount(0);
}

/** Digits are of times and counts, which differ between two visits. */
const plainName = ({ name }: Control): string => name.replaceAll(/\d+/g, "#");

/** What the shop has not: a domain, a registry, an account that its provider refuses. */
async function more(server: Server, made: Shop, pages: readonly Page[]): Promise<void> {
  const { interfaces } = await server.call<{ interfaces: { id: string; type: string }[] }>("GET", `/sources/${made.source}?include=interfaces`);
  await server.call("POST", "/domains", { domain: "orders.northgate.example", endpoint_id: interfaces.find(({ type }) => type === "http")?.id });
  const root = mkdtempSync(path(tmpdir(), "registry-"));
  const file = path(root, "components/acme/sources/ticks/ticks.mjs");
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, `export default { key: "acme-ticks", name: "Ticks", version: "1.0.0", type: "source", run() {} };`);
  const body = new Uint8Array(execFileSync("tar", ["-cz", "-C", root, "components"]));
  await fetch(`${server.url}/v1/registries?name=ours&revision=0a1b2c3d`, { method: "POST", headers: { authorization: `Bearer ${server.key}`, "content-type": "application/gzip" }, body });
  for (const page of pages) {
    await page.route(/\/v1\/accounts/, async (route) => {
      const answer = await route.fetch();
      await route.fulfill({ response: answer, body: (await answer.text()).replaceAll('"healthy":true', '"healthy":false') });
    });
  }
}

/** What is wrong with what a viewer is offered on a page, beside what an owner is. */
function faultsOf(name: string, offered: readonly Control[], ofOwner: readonly Control[]): string[] {
  const wrong: string[] = [];
  const openToOwner = new Set(ofOwner.filter(({ isLocked }) => !isLocked).map(plainName));
  for (const control of offered) {
    if (control.kind === "field") {
      if (!control.isLocked && !reads.test(control.name)) wrong.push(`${name} lets “${control.name}” be filled in`);
    } else if (!control.isLocked && changes.test(control.name.split(", ").at(-1) ?? "")) wrong.push(`${name} offers “${control.name}”`);
    // Code is read where it cannot be written.
    const isByRole = control.isLocked && openToOwner.has(plainName(control)) && !control.name.startsWith("Code of");
    if (isByRole && !/cannot/.test(control.why)) wrong.push(`${name} locks “${control.name}” and does not say why: “${control.why}”`);
  }
  const names = new Set(offered.map(plainName));
  const menus = new Set(offered.filter(({ isLocked }) => !isLocked).map(plainName));
  for (const control of ofOwner) {
    const plainOf = plainName(control);
    const [menu, item] = plainOf.split(", ");
    // A menu that is locked has no items.
    if (item !== undefined && names.has(menu ?? "") && !menus.has(menu ?? "")) continue;
    if (control.kind !== "link" && !names.has(plainOf) && !toldToOwners.test(control.name)) wrong.push(`${name} hides “${control.name}”`);
  }
  return wrong;
}

/** Ends the visit, and is the person's own. */
const leaves = /sign out|end this session/i;

/** The same on every page. */
const once = /^(as command|tree|text|path|value|copy.*|columns|more copy options)$/i;

/** Presses what is not locked on the page that the viewer has open, and returns what is offered there that changes something. */
async function press(viewer: Page, name: string, address: string, offered: readonly Control[], pressed: Set<string>): Promise<string[]> {
  const wrong: string[] = [];
  const here = viewer.url();
  const buttons = offered.filter((each) => each.kind === "button" && !each.isLocked && !leaves.test(each.name));
  for (const each of new Set(buttons.map((button) => button.name))) {
    const button = viewer.locator("#main").getByRole("button", { name: each, exact: true }).first();
    // What was pressed before it may have put it away.
    if (each === "" || (once.test(each) && pressed.has(each)) || !(await button.isVisible())) continue;
    pressed.add(each);
    await button.evaluate((element: HTMLElement) => element.click());
    const inDialog = await controlsOf(viewer, "[role=dialog], [role=alertdialog]");
    wrong.push(...inDialog.filter((control) => !control.isLocked && control.kind === "button" && changes.test(control.name)).map((control) => `${name}, “${each}” opens “${control.name}”`));
    await viewer.keyboard.press("Escape");
    if (viewer.url() !== here) await open(viewer, address);
  }
  return wrong;
}

/** Walks pages as both, presses there what the viewer can, and returns what is wrong. */
async function walk(owner: Page, viewer: Page, pages: readonly (readonly [name: string, address: string])[]): Promise<string[]> {
  const wrong: string[] = [];
  const pressed = new Set<string>();
  for (const [name, address] of pages) {
    if (isGone(name)) continue;
    await Promise.all([owner, viewer].map(async (page) => {
      await open(page, address);
      // What is drawn with later answers is held against the other's too.
      await page.waitForLoadState("networkidle");
    }));
    if ((await viewer.locator(".crash").count()) > 0) wrong.push(`${name}: ${await viewer.locator(".crash").innerText()}`);
    // A page of which the server tells only owners says so, and nothing else.
    if ((await viewer.getByText("Only owners see this.").count()) > 0) continue;
    const [ofOwner, offered] = await Promise.all([controlsOfPage(owner), controlsOfPage(viewer)]);
    wrong.push(...faultsOf(name, offered, ofOwner), ...(await press(viewer, name, address, offered, pressed)));
  }
  return wrong;
}

const refusedAnswers = (page: Page): string[] => {
  const refused: string[] = [];
  page.on("response", (response) => {
    if (response.status() >= 400) refused.push(`${page.url()}: ${response.request().method()} ${new URL(response.url()).pathname} answered ${response.status()}`);
  });
  return refused;
};

// Two tests, so that they are walked beside each other.
for (const half of [0, 1]) {
  test(`a viewer reads every page, what others may do there is locked with the reason, and nothing to press is refused: half ${half + 1} of the pages`, async ({ page: owner, browser, server }) => {
    test.setTimeout(300_000);
    const made = await shop(server);
    const viewer = await join(browser, server, "Jo Viewer", "viewer");
    await more(server, made, [owner, viewer]);
    const refused = refusedAnswers(viewer);
    expect(await walk(owner, viewer, pagesOf(made).filter((_, at) => at % 2 === half))).toEqual([]);
    expect(refused).toEqual([]);
    await viewer.context().close();
  });
}

/** Another organization, in which there is nothing, its owner and a viewer. */
async function empty(browser: Browser, server: Server): Promise<[owner: Page, viewer: Page]> {
  const other = await server.call<{ api_key: string }>("POST", "/workspaces", { name: "Southgate", email: "sven@southgate.example" });
  const keyed = await stranger(browser, server);
  await keyed.setExtraHTTPHeaders({ authorization: `Bearer ${other.api_key}` });
  const call = async <T>(method: string, to: string, body?: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${other.api_key}`, "content-type": "application/json" };
    const answer = await fetch(`${server.url}/v1${to}`, { method, headers, body: JSON.stringify(body) });
    return ((await answer.json()) as { data: T }).data;
  };
  return [await keyed.newPage(), await join(browser, { ...server, call }, "Ida Viewer", "viewer")];
}

test("where there is nothing yet, a viewer sees how it begins, and why not by them", async ({ browser, server }) => {
  test.setTimeout(300_000);
  const [owner, viewer] = await empty(browser, server);
  const refused = refusedAnswers(viewer);
  // The server itself is of the first organization.
  expect(await walk(owner, viewer, plain.filter(([name]) => name !== "settings-system"))).toEqual([]);
  expect(refused).toEqual([]);
  await owner.context().close();
  await viewer.context().close();
});
