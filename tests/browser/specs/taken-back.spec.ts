// Acts that cannot be taken back are asked for, the others can be undone; both say where they fail.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { join } from "../fixtures/people.ts";
import { send, step, workflow, write } from "../fixtures/workflows.ts";

const FAULT = { status: 500, json: { error: "the disk is full", code: "internal", details: {} } };
const isFault = (message: string): boolean => message.includes("status of 500");

test("a run is cancelled once that is confirmed, by a key too", async ({ page, server }) => {
  const made = await workflow(server, "Waits for a word", { ask: step("$.flow.suspend(3_600_000); return 1;") });
  const run = await send(server, made, { id: 1 });
  const status = async () => (await server.call<{ status: string }>("GET", `/runs/${run}`)).status;
  await page.goto(`/runs/${run}`);
  const asks = page.getByRole("dialog", { name: "Cancel 1 run?" });
  await expect(page.getByRole("button", { name: "Cancel run…" })).toBeVisible();
  await page.keyboard.press("c");
  await expect(asks).toContainText("1 run of Waits for a word waits, queued or paused");
  await expectAccessible(page);
  await asks.getByRole("button", { name: "Keep running" }).click();
  await expect(asks).toHaveCount(0);
  expect(await status()).toBe("paused");
  await page.getByRole("button", { name: "Cancel run…" }).click();
  await asks.getByRole("button", { name: "Cancel 1 run" }).click();
  await expect(page.getByRole("button", { name: "Cancel run…" })).toHaveCount(0);
  expect(await status()).toBe("cancelled");
});

test("no version comes back unseen: the button waits for the difference, and stays refused where it cannot be read", async ({ page, server, messages }) => {
  const code = (text: string) => `export default { name: "Seen first", version: "1", run() { return ${text}; } };`;
  const source = await server.call<{ id: string }>("POST", "/sources", { component_code: code("1"), name: "Seen first" });
  await server.call("PUT", `/sources/${source.id}`, { component_code: code("2") });
  const made = await workflow(server, "Seen first", { one: step("return 1;") });
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step("return 2;") }] });
  await server.call("POST", `/workflows/${made.id}/deploy`, {});
  for (const owner of [`/sources/${source.id}`, `/workflows/${made.id}`]) {
    await test.step(owner, async () => {
      const first = (await server.call<{ id: string }[]>("GET", `${owner}/deployments`)).at(-1)?.id;
      const versions = `**/deployments/${first}*`;
      let answer: (() => void) | undefined;
      const waits = new Promise<void>((resolve) => {
        answer = resolve;
      });
      let fails = true;
      await page.route(versions, async (route) => {
        await waits;
        return fails ? route.fulfill(FAULT) : route.fallback();
      });
      await page.goto(`${owner}/versions`);
      await page.getByRole("button", { name: "Roll back to v1…" }).click();
      const dialog = page.getByRole("dialog", { name: "Roll back to v1?" });
      const go = dialog.getByRole("button", { name: "Roll back to v1", exact: true });
      await expect(go).toHaveAttribute("aria-disabled", "true");
      await go.hover();
      await expect(page.locator(".tip")).toHaveText("Loading the difference…");
      await page.keyboard.press("ControlOrMeta+Enter");
      answer?.();
      await expect(dialog.getByRole("alert")).toContainText("The differences could not be loaded");
      await expect(go).toHaveAttribute("aria-disabled", "true");
      await expectAccessible(page);
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Compare v1 with another" }).click();
      const compared = page.getByRole("dialog", { name: "v1 against v2" });
      await expect(compared.getByRole("alert")).toContainText("The differences could not be loaded");
      fails = false;
      await compared.getByRole("button", { name: "Retry" }).click();
      await expect(compared.getByRole("figure").first()).toBeVisible();
      await page.keyboard.press("Escape");
      await page.getByRole("button", { name: "Roll back to v1…" }).click();
      await expect(dialog.getByRole("figure").first()).toBeVisible();
      await go.click();
      await expect(page.getByText("Version 3 is live")).toBeVisible();
      await page.unroute(versions);
    });
  }
  expect(messages.splice(0).filter((message) => !isFault(message))).toEqual([]);
});

test("deletes and ends that fail say so, and so does their undo", async ({ page, server, messages }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Refuses" });
  await server.call("PUT", `/data_stores/${store.id}/record`, { key: "cursor", value: 7 });
  await page.goto(`/data/${store.id}?key=cursor`);
  const remove = page.getByRole("button", { name: "Delete", exact: true });
  await page.route("**/v1/data_stores/*/record*", (route) => (route.request().method() === "GET" ? route.fallback() : route.fulfill(FAULT)));
  await remove.click();
  await expect(page.getByText("cursor was not deleted")).toBeVisible();
  await page.unroute("**/v1/data_stores/*/record*");
  await remove.click();
  await page.route("**/v1/data_stores/*/record*", (route) => route.fulfill(FAULT));
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(page.getByText("cursor was not restored")).toBeVisible();
  await page.unroute("**/v1/data_stores/*/record*");

  const webhook = await server.call<{ id: string }>("POST", "/webhooks", { url: "https://erp.example/orders", name: "Ledger" });
  await server.call("POST", `/auto_subscriptions?event_name=%24errors&listener_id=${webhook.id}`);
  await workflow(server, "Heard", { one: step("return 1;") });
  const autos = async () => (await server.call<{ listener_id: string }[]>("GET", "/auto_subscriptions")).filter((each) => each.listener_id === webhook.id).length;
  await page.goto("/listeners");
  const end = page.getByRole("button", { name: "Remove: Ledger listens to new workflows and sources" });
  await page.route("**/v1/auto_subscriptions/*", (route) => route.fulfill(FAULT));
  await end.click();
  await expect(page.getByText("Nothing was changed")).toBeVisible();
  await page.unroute("**/v1/auto_subscriptions/*");
  await end.click();
  await expect(end).toHaveCount(0);
  expect(await autos()).toBe(0);
  await page.getByRole("button", { name: "Undo" }).click();
  await expect(end).toBeVisible();
  expect(await autos()).toBe(1);

  // That of the workflow, which the automatic one made.
  await page.getByRole("button", { name: "Remove: Ledger listens to Heard" }).click();
  await page.route("**/v1/subscriptions*", (route) => (route.request().method() === "POST" ? route.fulfill(FAULT) : route.fallback()));
  await page.getByRole("button", { name: "Undo" }).first().click();
  await expect(page.getByText("Ledger was not restored")).toBeVisible();
  expect(messages.splice(0).filter((message) => !isFault(message))).toEqual([]);
});

test("an owner is asked before her own role is lowered", async ({ browser, server }) => {
  // The last owner who can sign in stays one.
  await join(browser, server, "Wojciech Mazur", "owner");
  const page = await join(browser, server, "Ingrid Solheim", "owner");
  await page.goto("/settings/members");
  const role = page.getByRole("combobox", { name: "Role of Ingrid Solheim" });
  const choose = async (name: RegExp) => {
    await role.click();
    await page.getByRole("option", { name }).click();
  };
  const asks = page.getByRole("dialog", { name: "Change your role to viewer?" });
  await choose(/^Viewer/);
  await expect(asks).toBeVisible();
  await expectAccessible(page);
  await asks.getByRole("button", { name: "Cancel" }).click();
  await expect(asks).toHaveCount(0);
  await expect(role).toHaveText(/Owner/);
  await choose(/^Viewer/);
  await asks.getByRole("button", { name: "Change role" }).click();
  await expect(role).toHaveCount(0);
  await page.context().close();
});

test("what this browser kept of a draft is discarded by name, and can be brought back", async ({ page, server, messages }) => {
  const made = await workflow(server, "Kept", { one: step("return 1;") });
  const editor = page.getByRole("textbox", { name: "Code of one" });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor).toContainText("return 1");
  await server.kill();
  await write(page, "one", step("return 'typed here';"));
  await expect(page.getByText("Not saved: no connection")).toBeVisible();
  await page.close({ runBeforeUnload: false });
  await server.start();
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step("return 'saved elsewhere';") }] });
  const next = await page.context().newPage();
  await next.goto(`/workflows/${made.id}/edit`);
  const notice = next.getByRole("alert").filter({ hasText: "This browser kept unsaved changes" });
  await notice.getByRole("button", { name: "Discard" }).click();
  await expect(notice).toHaveCount(0);
  await next.getByRole("button", { name: "Undo", exact: true }).click();
  await expect(notice).toBeVisible();
  // It is in the browser again, not on the page alone.
  await next.reload();
  await notice.getByRole("button", { name: "Restore" }).click();
  await expect(next.getByRole("textbox", { name: "Code of one" })).toContainText("typed here");
  expect(messages.splice(0).filter((message) => !/ERR_|Failed to fetch/.test(message))).toEqual([]);
});

test("the tag of a draft opens its difference, and from there it is deployed or discarded", async ({ page, server }) => {
  const made = await workflow(server, "Drafted", { check: step("return 1;") }, { auto_deploy: false });
  await server.call("POST", `/workflows/${made.id}/deploy`);
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "check", code: step("return 2;") }] });
  await page.goto(`/workflows/${made.id}/edit`);
  const tag = page.getByRole("button", { name: "draft, 1 change from v1" });
  await tag.click();
  const difference = page.getByRole("dialog", { name: "Draft compared with v1" });
  await expect(difference.getByRole("list", { name: "Changes", exact: true })).toContainText("check");
  await expectAccessible(page);
  await difference.getByRole("button", { name: "Deploy…" }).click();
  await expect(page.getByRole("dialog", { name: "Deploy, compared with v1" })).toBeVisible();
  await page.keyboard.press("Escape");
  await tag.click();
  await difference.getByRole("button", { name: "Discard draft…" }).click();
  await page.getByRole("button", { name: "Discard draft", exact: true }).click();
  await expect(page.getByText("The draft was discarded")).toBeVisible();
  await expect(tag).toHaveCount(0);
  // The tag had the focus, and went.
  await expect(page.getByRole("heading", { level: 1 })).toBeFocused();
});
