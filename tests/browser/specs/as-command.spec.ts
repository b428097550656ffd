// Pages as commands: each that is no record offers how it is read, and what is offered is answered.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

/** Pages by their titles. */
const PAGES: readonly (readonly [address: string, title: string])[] = [
  ["/accounts", "Accounts"], ["/apps", "Apps"], ["/apps?q=slack", "Apps"], ["/components", "Components"], ["/data", "Data"], ["/listeners", "Listeners"],
  ["/mail", "Mail"], ["/map", "Map"], ["/registries", "Registries"], ["/replays", "Replays"], ["/settings", "Organization"], ["/settings/audit", "Audit log"],
  ["/settings/domains", "Domains"], ["/settings/keys", "API keys"], ["/settings/members", "Members"], ["/settings/oauth-clients", "OAuth clients"],
  ["/settings/system", "System"], ["/sources", "Sources"], ["/sources/new", "New source"], ["/webhooks", "Webhooks"], ["/workflows", "Workflows"],
  ["/workflows/new", "New workflow"],
];

test("lists, Home, settings and a new source are also commands, and the server answers them", async ({ page, server }) => {
  const made = await workflow(server, "Labels", { one: step("return 1;") });
  const run = await send(server, made, { n: 1 });
  const component = await server.call<{ id: string }>("POST", "/components", { component_code: `export default { name: "Orders", version: "1", type: "source", run() {} };` });
  const dialog = page.getByRole("dialog", { name: "As command" });
  const commands = new Set<string>();
  await page.goto("/");
  const open = [["/", "Home"], ...PAGES, [`/runs/compare?a=${run}&b=${run}`, "Compare runs"], [`/sources?action=create&component=${component.id}`, "Deploy Orders"]] as const;
  for (const [address, title] of open) {
    // Within the application: to load it anew for each page would take most of the time of this test.
    await page.evaluate((to) => history.pushState({}, "", to), address);
    await expect(page).toHaveTitle(new RegExp(`^${title}\\b`));
    await page.getByRole("button", { name: "As command" }).click();
    await expect(dialog.locator("pre").first()).toBeVisible();
    for (const text of await dialog.locator("pre").allTextContents()) commands.add(text);
    if (address === "/sources") await expectAccessible(page);
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
  }
  await Promise.all([...commands].map(async (text) => {
    expect(text).toMatch(/^(millrace|curl) /);
    const read = /^curl '?(http[^\s']+)/.exec(text)?.[1];
    if (read === undefined) return;
    const answer = await fetch(read, { headers: { authorization: `Bearer ${server.key}` } });
    expect(`${answer.status} ${read}`).toBe(`200 ${read}`);
  }));
});

test("the link of a run names its organization", async ({ page, server, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const made = await workflow(server, "Linked", { one: step("return 1;") });
  const run = await send(server, made, { n: 1 });
  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Copy link" }).click();
  await expect(page.getByText("Link copied")).toBeVisible();
  const url = new URL(await page.evaluate(() => navigator.clipboard.readText()));
  expect(url.pathname).toBe(`/runs/${run}`);
  expect(url.searchParams.get("org")).toBe(server.org);
});
