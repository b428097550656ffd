// Pages as commands: each that is no record offers how it is read, and what is offered is answered.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

const PAGES = [
  "/", "/accounts", "/apps", "/apps?q=slack", "/components", "/data", "/listeners", "/mail", "/map", "/registries", "/replays", "/settings", "/settings/audit",
  "/settings/domains", "/settings/keys", "/settings/members", "/settings/oauth-clients", "/settings/system", "/sources", "/sources/new", "/webhooks", "/workflows", "/workflows/new",
];

test("lists, Home, settings and a new source are also commands, and the server answers them", async ({ page, server }) => {
  const made = await workflow(server, "Labels", { one: step("return 1;") });
  const run = await send(server, made, { n: 1 });
  const component = await server.call<{ id: string }>("POST", "/components", { component_code: `export default { name: "Orders", version: "1", type: "source", run() {} };` });
  const dialog = page.getByRole("dialog", { name: "As command" });
  for (const address of [...PAGES, `/runs/compare?a=${run}&b=${run}`, `/sources?action=create&component=${component.id}`]) {
    await page.goto(address);
    await page.getByRole("button", { name: "As command" }).click();
    await expect(dialog.locator("pre").first()).toBeVisible();
    const commands = await dialog.locator("pre").allTextContents();
    for (const text of commands) {
      expect(text).toMatch(/^(millrace|curl) /);
      const read = /^curl '?(http[^\s']+)/.exec(text)?.[1];
      if (read === undefined) continue;
      const answer = await fetch(read, { headers: { authorization: `Bearer ${server.key}` } });
      expect(`${answer.status} ${read}`).toBe(`200 ${read}`);
    }
    if (address === "/sources") await expectAccessible(page);
    await page.keyboard.press("Escape");
    await expect(dialog).toHaveCount(0);
  }
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
