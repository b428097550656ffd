// What people lost elsewhere, and do not here: each test is named after the complaint that it answers.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { readNothingNew, step, workflow, write } from "../fixtures/workflows.ts";
import type { Page } from "@playwright/test";
import type { Server } from "../fixtures/server.ts";

type Step = { namespace: string; savedComponent: { code: string }; configured_props_json: string };
type Record = { steps: Step[]; triggers: { type: string; event_name?: string }[] };

const record = (server: Server, id: string) => server.call<Record>("GET", `/workflows/${id}`);
const codeOf = async (server: Server, id: string) =>
  (await record(server, id)).steps.map(({ savedComponent }) => savedComponent.code).join("\n");
const card = (page: Page, name: RegExp) =>
  page.getByRole("navigation", { name: "Trigger and steps" }).getByRole("button", { name });
const editor = (page: Page, name: string) => page.getByRole("textbox", { name: `Code of ${name}` });
/** The browser writes each request that no server answered, or that was refused, to its console. */
const expectOnly = (messages: string[], what: RegExp) =>
  expect(messages.splice(0).filter((message) => !what.test(message))).toEqual([]);

const withProps = `export default defineComponent({
  props: { note: { type: "string", label: "Note" } },
  run() { return this.note; },
});
`;

test("'hours of edits gone after a refresh': every kind of edit is kept while the server is away, and saved once it is back", async ({ page, server, messages }) => {
  const made = await workflow(server, "Kinds", { one: step("return 1;"), two: withProps, three: step("return 3;") });
  await page.goto(`/workflows/${made.id}/edit?step=one`);
  await expect(editor(page, "one")).toContainText("return 1");
  await server.kill();

  await write(page, "one", step("return 'code';"));
  await expect(page.getByText("Not saved: no connection")).toBeVisible();
  await page.getByRole("button", { name: "Rename" }).click();
  await page.getByRole("textbox", { name: "Step name" }).fill("first");
  await page.keyboard.press("Enter");
  await card(page, /^two/).click();
  await page.getByRole("tab", { name: "Configure" }).click();
  await page.getByLabel("Note").fill("typed in a form");
  await card(page, /^three/).click();
  await page.keyboard.press("Alt+ArrowUp");
  await page.getByRole("button", { name: "Add a step" }).click();
  await page.getByRole("button", { name: /^Code/ }).click();
  await expect(editor(page, "code")).toBeVisible();
  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Turn off" }).click();
  await page.getByRole("tab", { name: "Settings" }).click();
  await page.getByLabel("Note").fill("noted while it was away");
  const more = async (name: string): Promise<void> => {
    await page.getByRole("button", { name: "More", exact: true }).click();
    await page.getByRole("menuitem", { name }).click();
  };
  await card(page, /^two/).click();
  await more("Duplicate");
  await card(page, /^three/).click();
  await more("Duplicate");
  await card(page, /^three_2/).click();
  await more("Remove");
  await card(page, /^HTTP request/).click();
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem", { name: "Schedule" }).click();
  await page.getByRole("textbox", { name: "Runs" }).fill("7");
  await page.keyboard.press("Tab");
  await expect(page.getByText(/^Not saved: no connection/)).toBeVisible();
  await expectAccessible(page);

  // Without a hand: the draft is saved as soon as there is a server.
  await server.start();
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible({ timeout: 60_000 });
  const saved = await record(server, made.id);
  expect(saved.steps.map(({ namespace }) => namespace)).toEqual(["first", "three", "two", "two_2", "code"]);
  expect(saved.steps[0]?.savedComponent.code).toContain("'code'");
  expect(JSON.parse(saved.steps[2]?.configured_props_json ?? "")).toEqual({ note: "typed in a form" });
  expect(saved.steps.at(-1)).toMatchObject({ namespace: "code", disabled: true, note: "noted while it was away" });
  expect(saved.triggers).toMatchObject([{ type: "http" }, { type: "timer", interval_seconds: 7 * 60 }]);

  // A page that is closed meanwhile has it all the same.
  await card(page, /^first/).click();
  await server.kill();
  await write(page, "first", step("return 'closed with it';"));
  await expect(page.getByText("Not saved: no connection")).toBeVisible();
  await page.close({ runBeforeUnload: false });
  await server.start();
  const next = await page.context().newPage();
  await next.goto(`/workflows/${made.id}/edit?step=first`);
  const take = next.getByRole("button", { name: "Restore", exact: true });
  await expect(editor(next, "first").filter({ hasText: "closed with it" }).or(take).first()).toBeVisible();
  if (await take.isVisible()) await take.click();
  await expect(editor(next, "first")).toContainText("closed with it");
  await expect.poll(() => codeOf(server, made.id)).toContain("closed with it");
  expectOnly(messages, /ERR_|Failed to fetch|status of 5/);
});

test("'two tabs overwrite each other without a word': both texts are there, whichever is saved first", async ({ page, context, server, messages }) => {
  const made = await workflow(server, "Tabs", { one: step("return 1;") });
  const other = await context.newPage();
  await readNothingNew(other);
  for (const each of [page, other]) {
    await each.goto(`/workflows/${made.id}/edit`);
    await expect(editor(each, "one")).toContainText("return 1");
  }
  await write(page, "one", step("return 'of the first tab';"));
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await write(other, "one", step("return 'of the second tab';"));
  await expect(other.getByText("Not saved: it was changed elsewhere")).toBeVisible();
  const alert = other.getByRole("alert").filter({ hasText: "This draft was changed elsewhere" });
  await expect(alert).toBeVisible();
  expect(await codeOf(server, made.id)).toContain("of the first tab");
  // What is typed on is kept; nothing is sent until one decides.
  await other.reload();
  await other.getByRole("button", { name: "Restore" }).click();
  await expect(editor(other, "one")).toContainText("of the second tab");
  await expect(other.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  expect(await codeOf(server, made.id)).toContain("of the second tab");
  await other.getByRole("button", { name: "Undo: restore unsaved changes" }).click();
  await expect(editor(other, "one")).toContainText("of the first tab");
  expectOnly(messages, /412/);
});

test("'saved, it says, and nothing is': who is signed out meanwhile reads so, and loses nothing", async ({ page, server, messages }) => {
  const made = await workflow(server, "Ended", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor(page, "one")).toContainText("return 1");
  const ended = { status: 401, json: { error: "the session ended", code: "unauthorized", details: {} } };
  await page.route("**/v1/**", (route) => route.fulfill(ended));
  await write(page, "one", step("return 'after the end';"));
  await expect(page.getByText("Not saved: the session ended")).toBeVisible();
  await expect(page.getByRole("link", { name: "Sign in again" })).toBeVisible();
  await write(page, "one", step("return 'and more after the end';"));
  expect(await codeOf(server, made.id)).not.toContain("after the end");
  // Signed in again in another tab, and back in this one.
  await page.unroute("**/v1/**");
  await page.evaluate(() => window.dispatchEvent(new Event("focus")));
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  expect(await codeOf(server, made.id)).toContain("and more after the end");
  expectOnly(messages, /401/);
});

test("'sign in, and type it all again': a session that ends offers to sign in once, and a dialog keeps what was typed", async ({ page, context, server, messages }) => {
  const code = `export default { name: "Ended", version: "1", run() {} };`;
  const { id } = await server.call<{ id: string }>("POST", "/sources", { component_code: code, name: "Ended" });
  await page.goto(`/sources/${id}`);
  await page.getByRole("button", { name: "Run now" }).first().click();
  const dialog = page.getByRole("dialog", { name: "Run now" });
  await dialog.getByRole("textbox", { name: "Event" }).focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.insertText('{"typed": 1}');
  const refusal = { error: "the API key is missing, wrong or expired", code: "unauthorized", details: {} };
  await page.route("**/v1/**", (route) => route.fulfill({ status: 401, json: refusal }));
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(dialog.getByRole("alert")).toContainText("The session ended");
  const ended = page.getByRole("dialog", { name: "Your session has ended" });
  await expect(ended).toHaveCount(1);
  const [beside] = await Promise.all([context.waitForEvent("page"), ended.getByRole("button", { name: "Sign in" }).click()]);
  await expect(beside).toHaveURL(new RegExp(`next=.*${id}`));
  // Somebody signed in there.
  await page.unroute("**/v1/**");
  await beside.evaluate(() => new BroadcastChannel("millrace.session").postMessage("changed"));
  await expect(ended).toHaveCount(0);
  await expect(dialog.getByRole("textbox", { name: "Event" })).toContainText("typed");
  await page.keyboard.press("Escape");
  expectOnly(messages, /401/);
});

test("'a rename goes back to an old draft': the name and the settings are changed, and what was typed stays", async ({ page, server }) => {
  const made = await workflow(server, "Old name", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor(page, "one")).toContainText("return 1");
  await write(page, "one", step("return 'typed before the name';"));
  await page.getByRole("navigation", { name: "Parts of the workflow" }).getByRole("link", { name: "Settings" }).click();
  await page.getByLabel("Name", { exact: true }).fill("New name");
  await page.getByRole("button", { name: "Save settings" }).click();
  await expect(page.getByRole("heading", { name: "New name" })).toBeVisible();
  await page.getByRole("navigation", { name: "Parts of the workflow" }).getByRole("link", { name: "Edit" }).click();
  await expect(editor(page, "one")).toContainText("typed before the name");
  await expect.poll(() => codeOf(server, made.id)).toContain("typed before the name");
  await page.reload();
  await expect(page.getByRole("heading", { name: "New name" })).toBeVisible();
  await expect(editor(page, "one")).toContainText("typed before the name");
});

test("'my own save is shown as the change of another': a save whose answer is lost is no conflict", async ({ page, server, messages }) => {
  const made = await workflow(server, "Answers", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor(page, "one")).toContainText("return 1");
  let lost = 0;
  await page.route(`**/v1/workflows/${made.id}`, async (route) => {
    if (route.request().method() !== "PUT" || lost > 0) return route.fallback();
    lost += 1;
    await route.fetch();
    await route.abort();
  });
  await write(page, "one", step("return 'arrived';"));
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible({ timeout: 60_000 });
  expect(lost).toBe(1);
  await expect(page.getByText("This draft was changed elsewhere")).toBeHidden();
  expectOnly(messages, /412|ERR_/);
});

test("'a half-typed secret was saved': a secret is sent once one leaves the form, and never kept here", async ({ page, server }) => {
  const code = withProps.replace("note: {", 'token: { type: "string", secret: true, label: "Token" }, note: {');
  const made = await workflow(server, "Secrets", { one: code });
  await page.goto(`/workflows/${made.id}/edit`);
  await page.getByRole("tab", { name: "Configure" }).click();
  await page.getByLabel("Token").fill("hunter2");
  await expect(page.getByText("Not saved: a secret is saved once you leave the form")).toBeVisible();
  await page.getByLabel("Note").pressSequentially("still the same form");
  await expect(page.getByLabel("Note")).toBeFocused();
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("hunter2");
  await page.getByRole("tab", { name: "Configure" }).focus();
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await expect(page.getByText("Set. It cannot be read back.")).toBeVisible();
  await expect(page.getByLabel("Note")).toHaveValue("still the same form");
});

test("'a brace that I deleted took the saved value with it': a field that is not valid keeps its text, the draft its value", async ({ page, server }) => {
  const code = `export default defineComponent({
  props: { body: { type: "object", label: "Body" } },
  run() { return this.body; },
});
`;
  const made = await workflow(server, "Half", { mail: code, after: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit?step=mail`);
  await page.getByRole("tab", { name: "Configure" }).click();
  const body = page.getByRole("textbox", { name: "Body", exact: true });
  const savedState = page.locator(".bld-saved");
  const value = async () => JSON.parse((await record(server, made.id)).steps[0]?.configured_props_json ?? "");
  await body.click();
  await page.keyboard.insertText('{"customer":"Ada"}');
  await expect(savedState).toHaveText(/^Saved/);
  expect(await value()).toEqual({ body: { customer: "Ada" } });

  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.press("Backspace");
  await expect(savedState).toHaveText(/^Not saved: Body of mail is not valid/);
  await card(page, /^after/).click();
  await card(page, /^mail/).click();
  await page.getByRole("tab", { name: "Configure" }).click();
  await expect(body).toHaveText('{"customer":"Ada"');
  await page.reload();
  await page.getByRole("tab", { name: "Configure" }).click();
  await expect(body).toHaveText('{"customer":"Ada"');
  expect(await value()).toEqual({ body: { customer: "Ada" } });
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(page.getByText("Not tested: Body of mail is not valid.")).toBeVisible();
  await page.getByRole("button", { name: "Deploy…" }).click();
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByText("mail has fields that are not valid")).toBeVisible();
  await expect(dialog.getByRole("button", { name: "Deploy", exact: true })).toBeDisabled();
  await page.keyboard.press("Escape");

  await body.click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.insertText("}");
  await expect(savedState).toHaveText(/^Saved/);
});

test("a page that is opened while the server is away comes whole once it is back", async ({ page, server, messages }) => {
  const made = await workflow(server, "Opened", { one: step("return 1;") });
  await page.goto("/workflows");
  const link = page.getByRole("link", { name: "Opened" });
  await expect(link).toBeVisible();
  await server.kill();
  await link.click();
  await expect(page.getByText(/^No connection since/)).toBeVisible();
  await server.start();
  await expect(page.getByRole("heading", { level: 1, name: "Opened" })).toBeVisible({ timeout: 60_000 });
  await expect(page).toHaveURL(new RegExp(made.id));
  const styled = () => [...document.styleSheets].filter(({ href }) => href?.includes("/_app.workflows._id") === true).length;
  await expect.poll(() => page.evaluate(styled)).toBe(1);
  expectOnly(messages, /ERR_|Failed to fetch|Unable to preload CSS/);
});

test("'my other tab overwrote it': each tab keeps what is typed in it, and the next one takes over what a closed tab left", async ({ page, server }) => {
  const made = await workflow(server, "Two tabs", { one: step("return 1;") });
  const address = `/workflows/${made.id}/settings`;
  const noteOf = (tab: Page) => tab.getByLabel("Note");
  const other = await page.context().newPage();
  await page.goto(address);
  await other.goto(address);
  await noteOf(page).fill("of the first tab");
  await noteOf(other).fill("of the second tab");
  await page.reload();
  await expect(noteOf(page)).toHaveValue("of the first tab");
  await other.reload();
  await expect(noteOf(other)).toHaveValue("of the second tab");

  // A third one takes nothing from tabs that are open.
  const third = await page.context().newPage();
  await third.goto(address);
  await expect(noteOf(third)).toHaveValue("");
  await other.close();
  const open = () => page.evaluate(async () => (await navigator.locks.query()).held?.filter(({ name }) => name?.startsWith("millrace.tab.")).length);
  await expect.poll(open).toBe(2);
  await third.reload();
  await expect(noteOf(third)).toHaveValue("of the second tab");
  await expect(noteOf(page)).toHaveValue("of the first tab");
});
