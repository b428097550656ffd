// A workflow in the browser: made, written, tested, mended, deployed, called, rolled back.
import type { Page } from "@playwright/test";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { readNothingNew, send, step, workflow, write } from "../fixtures/workflows.ts";

const shot = async (page: Page, name: string) => {
  const folder = process.env["SHOTS"];
  if (folder === undefined) return;
  for (const colorScheme of ["light", "dark"] as const) {
    await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
    await page.screenshot({ path: `${folder}/${name}-${colorScheme}.png` });
  }
  await page.emulateMedia({ colorScheme: "light", reducedMotion: "reduce" });
};

const greet = (word: string) => step(`console.log("greets"); return "hello " + ${word};`);

test("a workflow is made, broken, mended, deployed, called and rolled back", async ({ page, server, messages }) => {
  await page.goto("/workflows");
  await page.getByRole("link", { name: "New workflow" }).first().click();
  await expect(page.getByRole("radio", { name: "A request" })).toBeChecked();
  await expectAccessible(page);
  await shot(page, "new");
  await page.getByLabel("Name").fill("Greeter");
  await page.getByRole("button", { name: "Create workflow" }).click();
  await expect(page.getByRole("heading", { name: "Greeter" })).toBeVisible();
  await expect(page.getByText("not deployed")).toBeVisible();
  // A step that throws: the error stands at the step, with its line.
  await write(page, "code", greet("steps.trigger.event.body.nobody.name"));
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await page.getByRole("button", { name: "Test to here" }).click();
  const alert = page.getByRole("alert").filter({ hasText: "This step failed in the last test" });
  await expect(alert).toContainText("TypeError");
  await expect(alert).toContainText("In line 3");
  await expect(page.locator(".cm-line.is-wrong")).toContainText("nobody");
  const card = page.getByRole("navigation", { name: "Trigger and steps" }).getByRole("button", { name: "code" });
  await expect(card).toContainText("failed");
  await expectAccessible(page);
  await shot(page, "builder-failed");

  // Mended, and tested by keys.
  await write(page, "code", greet("steps.trigger.event.body.hello"));
  await expect(card).toContainText("changed since");
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByRole("tree", { name: "Exports of code" })).toContainText("hello world");
  await expect(card).toContainText("succeeded");
  await page.getByRole("tab", { name: "Logs" }).click();
  await expect(page.getByText("greets", { exact: true })).toBeVisible();
  await shot(page, "builder");

  // Code that cannot be read is refused at its step, and stays here.
  await write(page, "code", "export default defineComponent({ run( { } })");
  await expect(page.getByText("Not saved: line 1 of code seems unfinished")).toBeVisible();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("alert").filter({ hasText: "The server rejected this step" })).toBeVisible();
  await expect(card).toContainText("refused");
  await expect(page.getByText(/^Not saved/)).toBeVisible();
  // The browser writes each refusal to its console.
  expect(messages.splice(0)).toEqual([expect.stringContaining("422")]);
  await page.reload();
  await expect(page.getByRole("textbox", { name: "Code of code" })).toContainText("run( { } }");
  await write(page, "code", greet("steps.trigger.event.body.hello"));
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();

  // Deployed, and called at its address.
  await page.getByRole("button", { name: "Deploy…" }).click();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await expect(page.getByText("v1 live")).toBeVisible();
  await page.getByRole("navigation", { name: "Trigger and steps" }).getByRole("button", { name: "HTTP request" }).click();
  const address = await page.getByLabel("URL", { exact: true }).textContent();
  expect(address).toMatch(/^http:\/\/127\.0\.0\.1/);
  await expect(page.getByText(`curl ${address}`)).toBeVisible();
  await expectAccessible(page);
  await shot(page, "trigger");
  const answer = await fetch(address ?? "", {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ hello: "there" }),
  });
  expect(answer.status).toBe(200);
  // The newest run is the one of the request, and has ended.
  const called = new URL(page.url()).pathname.split("/")[2] ?? "";
  const newest = () => server.call<{ kind: string; status: string }[]>("GET", `/workflows/${called}/runs?limit=1&include=kind,status`);
  await expect.poll(newest).toMatchObject([{ kind: "live", status: "succeeded" }]);
  await page.getByRole("link", { name: "Runs", exact: true }).last().click();
  const run = page.getByRole("table", { name: "Runs" }).getByRole("row").filter({ hasText: "Succeeded" }).first();
  await expect(run).toBeVisible();
  await run.getByRole("link").click();
  await expect(page.getByRole("tree", { name: "Exports of code" })).toContainText("hello there");

  // The next version, and back.
  await page.goBack();
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await write(page, "code", greet(`"everybody"`));
  await page.keyboard.press("ControlOrMeta+Shift+d");
  const dialog = page.getByRole("dialog", { name: "Deploy, compared with v1" });
  await expect(dialog.getByRole("list", { name: "Changes" })).toContainText("code: code changed");
  await expect(dialog.getByRole("figure", { name: "Changes in code" })).toContainText("everybody");
  await expectAccessible(page);
  await shot(page, "deploy");
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByText("v2 live")).toBeVisible();
  await page.getByRole("link", { name: "Versions" }).click();
  await page.getByRole("button", { name: "Roll back to v1…" }).click();
  await page.getByRole("button", { name: "Roll back to v1", exact: true }).click();
  await expect(page.getByText("v3 live")).toBeVisible();
  await expectAccessible(page);
  await shot(page, "versions");
  await page.getByRole("link", { name: "Edit", exact: true }).click();
  await expect(page.getByRole("textbox", { name: "Code of code" })).toContainText("body.hello");

  // Off, and gone.
  await page.getByRole("switch", { name: "Active" }).click();
  await expect(page.getByText("Greeter is off")).toBeVisible();
  await page.getByRole("link", { name: "Workflows" }).first().click();
  const row = page.getByRole("table", { name: "Workflows" }).getByRole("row").filter({ hasText: "Greeter" });
  await expect(row).toContainText("Off");
  await expect(row).toContainText("on requests");
  await expectAccessible(page);
  await shot(page, "list");
  const named = (await server.call<{ name: string }[]>("GET", "/workflows")).filter(({ name }) => name === "Greeter");
  expect(named.length).toBe(1);
});

test("steps are added, renamed, moved and removed by keys; each can be undone", async ({ page, server }) => {
  const made = await workflow(server, "Two steps", { first: step("return 1;"), second: step("return steps.first.$return_value + 1;") });
  await page.goto(`/workflows/${made.id}`);
  await expect(page).toHaveURL(/\/edit$/);
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  const names = async () => (await cards.locator(".mono").allTextContents()).join(" ");
  await expect.poll(names).toBe("first second");

  await cards.getByRole("button", { name: "first" }).click();
  await page.keyboard.press("Alt+ArrowDown");
  await expect.poll(names).toBe("second first");
  await page.getByRole("button", { name: "Undo: move first" }).click();
  await expect.poll(names).toBe("first second");
  // Code that an undo puts back is no edit: it can be redone.
  await write(page, "first", step("return 7;"));
  await page.getByRole("button", { name: "Undo: edit first" }).click();
  await expect(page.getByRole("textbox", { name: "Code of first" })).toContainText("return 1");
  await page.getByRole("button", { name: "Redo: edit first" }).click();
  await expect(page.getByRole("textbox", { name: "Code of first" })).toContainText("return 7");
  await page.getByRole("button", { name: "Undo: edit first" }).click();

  await cards.getByRole("button", { name: "first" }).focus();
  await page.keyboard.press("a");
  await expect(page.getByRole("dialog", { name: "Add a step" })).toBeVisible();
  await expectAccessible(page);
  await shot(page, "add");
  await page.getByRole("button", { name: /^Code/ }).click();
  await expect.poll(names).toBe("first code second");

  await page.getByRole("button", { name: "Rename" }).click();
  const field = page.getByRole("textbox", { name: "Step name" });
  await field.fill("first");
  await expect(page.getByText("Another step is already named first.")).toBeVisible();
  await field.fill("middle");
  await page.keyboard.press("Enter");
  await expect.poll(names).toBe("first middle second");

  await page.getByRole("button", { name: "More", exact: true }).click();
  await page.getByRole("menuitem", { name: "Remove" }).click();
  await expect.poll(names).toBe("first second");
  await page.keyboard.press("ControlOrMeta+z");
  await expect.poll(names).toBe("first middle second");

  // The same by single keys.
  await cards.getByRole("button", { name: "second" }).click();
  await page.keyboard.press("d");
  await expect.poll(names).toBe("first middle second second_2");
  await page.keyboard.press("Delete");
  await expect.poll(names).toBe("first middle second");

  // Going away saves what is not saved yet.
  await page.getByRole("link", { name: "Sources" }).click();
  await expect(page.getByRole("heading", { name: "Sources" })).toBeVisible();
  const record = await server.call<{ steps: { namespace: string }[] }>("GET", `/workflows/${made.id}`);
  expect(record.steps.map(({ namespace }) => namespace)).toEqual(["first", "middle", "second"]);
});

test("a failed run opens in the editor with its event; its step is tested alone; the draft is discarded", async ({ page, server }) => {
  const made = await workflow(server, "Orders", {
    load: step("return { total: steps.trigger.event.body.total, at: Math.random() };"),
    check: step("if (steps.load.$return_value.total > 10) throw new RangeError('too much'); return 'ok';"),
  });
  const run = await send(server, made, { total: 12 });
  await page.goto(`/runs/${run}`);
  await page.getByRole("button", { name: "Open in the editor" }).click();
  await expect(page.getByRole("heading", { name: "Orders" })).toBeVisible();
  await expect(page.getByRole("region", { name: "Step check" })).toBeVisible();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("total: 12");

  await write(page, "check", step("return steps.load.$return_value;"));
  await page.getByRole("button", { name: "More tests" }).click();
  await page.getByRole("menuitem", { name: "Test this step alone" }).click();
  const exports = page.getByRole("tree", { name: "Exports of check" });
  await expect(exports).toContainText("total: 12");
  // The step before did not run again: what it gave is what the run recorded.
  const record = await server.call<{ steps: { exports: { $return_value: { at: number } } }[] }>("GET", `/runs/${run}`);
  await expect(exports).toContainText(String(record.steps[0]?.exports.$return_value.at));
  await expectAccessible(page);
  await shot(page, "alone");

  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.getByText("draft, 1 change")).toBeVisible();
  await page.getByRole("button", { name: "Deploy…" }).click();
  await page.getByRole("button", { name: "Discard draft…" }).click();
  await page.getByRole("button", { name: "Discard draft", exact: true }).click();
  await expect(page.getByText("The draft was discarded")).toBeVisible();
  await expect(page.getByRole("textbox", { name: "Code of check" })).toContainText("too much");
  await expect(page.getByText("draft, 1 change")).toBeHidden();

  // The next event that comes is the one to test with.
  await page.getByRole("button", { name: "Wait for the next event" }).click();
  await send(server, made, { total: 3 });
  await expect(page.getByText("An event arrived")).toBeVisible();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("total: 3");
});

test("a run opened in the builder shows what it did at each step, and the line that failed", async ({ page, server }) => {
  const made = await workflow(server, "Opened", {
    load: step("return { total: steps.trigger.event.body.total };"),
    check: step("if (steps.load.$return_value.total > 10) throw new RangeError('too much'); return 'ok';"),
    last: step("return 3;"),
  });
  const run = await send(server, made, { total: 12 });
  await page.goto(`/workflows/${made.id}/edit?run=${run}`);
  await expect(page.getByRole("region", { name: "Step check" })).toBeVisible();
  await expect(page).toHaveURL(/step=check/);
  const alert = page.getByRole("alert").filter({ hasText: "This step failed in this run" });
  await expect(alert).toContainText("RangeError: too much");
  await expect(page.locator(".cm-line.is-wrong")).toContainText("too much");
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  await expect(cards.getByRole("button", { name: /^check/ })).toContainText("failed");
  await expect(cards.getByRole("button", { name: /^last/ })).not.toContainText(/succeeded|failed/);
  await cards.getByRole("button", { name: /^load/ }).click();
  await expect(page.getByRole("tree", { name: "Exports of load" })).toContainText("total: 12");
  await expect(cards.getByRole("button", { name: /^load/ })).toContainText("succeeded");
  await expectAccessible(page);

  // A step that is changed says so; its result stays until a test gives another one.
  await write(page, "load", step("return { total: 1 };"));
  await expect(cards.getByRole("button", { name: /^load/ })).toContainText("succeeded, changed since");
  await cards.getByRole("button", { name: /^check/ }).click();
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(page.getByRole("tree", { name: "Exports of check" })).toContainText("ok");
  await expect(alert).toBeHidden();
});

test("an action takes expressions whose values are shown, a secret stays, and code is completed by the data at hand", async ({ page, server, messages }) => {
  const action = `export default { name: "Add", key: "math-add", version: "0.0.1", type: "action",
    props: { a: { type: "integer", label: "First" }, note: { type: "string", label: "Note" }, token: { type: "string", secret: true, label: "Token" } },
    run() { return [this.a + 1, this.note, this.token.length]; } };`;
  await server.call("POST", "/components", { component_code: action, publish: true });
  const made = await workflow(server, "Sums", { one: step("return { n: 41 };") });
  await page.goto(`/workflows/${made.id}/edit`);
  await page.getByRole("button", { name: "Test all" }).click();
  await expect(page.getByRole("tree", { name: "Exports of one" })).toContainText("n: 41");

  // The second layer of names is what the results hold.
  const code = page.getByRole("textbox", { name: "Code of one" });
  await code.click();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("steps.trigger.event.body.");
  await expect(page.getByRole("option", { name: /hello.*"world"/ })).toBeVisible();
  await shot(page, "completion");
  await page.keyboard.press("Escape");
  await write(page, "one", step("return { n: 41 };"));
  await page.keyboard.press("ControlOrMeta+s");

  await page.getByRole("button", { name: "Add a step" }).click();
  await page.getByLabel("Search actions").fill("math add");
  await expect(page.getByText("1 found")).toBeVisible();
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "math_add" })).toBeVisible();
  await page.getByLabel("First", { exact: true }).fill("{{steps.one.$return_value.n}}");
  await expect(page.getByLabel("Value").first()).toHaveText("41");
  await page.getByLabel("Note", { exact: true }).fill("of {{steps.trigger.event.body.");
  await expect(page.getByLabel("Value").nth(1)).toContainText("SyntaxError");
  // Names are offered in fields too, and values are dragged into them.
  const note = page.getByLabel("Note", { exact: true });
  await note.fill("of {{");
  const fit = page.getByRole("listbox", { name: "Matching names" });
  await expect(fit.getByRole("option")).toHaveCount(2);
  await page.keyboard.type("steps.one.");
  await expect(fit.getByRole("option", { name: /return_value/ })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Enter");
  await expect(note).toHaveValue("of {{steps.one.$return_value");
  await expect(fit).toBeHidden();
  await page.keyboard.type(".n}}");
  await expect(page.getByLabel("Value").nth(1)).toHaveText('"of 41"');
  await note.fill("");
  await page.getByRole("tree", { name: "Event" }).getByRole("treeitem", { name: /^hello/ }).dragTo(note);
  await expect(note).toHaveValue("{{steps.trigger.event.body.hello}}");
  await note.press("Home");
  await page.keyboard.type("of ");
  await expect(page.getByLabel("Value").nth(1)).toHaveText('"of world"');
  await page.getByLabel("Token", { exact: true }).fill("hunter2");
  await shot(page, "expressions");
  await page.getByRole("button", { name: "Test to here" }).click();
  const exports = page.getByRole("tree", { name: "Exports of math_add" });
  await expect(exports).toContainText(/42[^]*of world/);

  // Saved, the secret is set, and stays where another value changes.
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.getByText("Set. It cannot be read back.")).toBeVisible();
  await page.getByLabel("Note", { exact: true }).fill("again");
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(exports).toContainText(/again[^]*7/);
  // Code that is typed more slowly than it is saved is refused until it is whole.
  expect(messages.splice(0).filter((message) => !/status of 422/.test(message))).toEqual([]);
});

test("a curl line and a copied step are pasted as steps", async ({ page, server, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const made = await workflow(server, "Pasted", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit`);
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  const names = async () => (await cards.locator(".mono").allTextContents()).join(" ");
  await cards.getByRole("button", { name: "one" }).click();
  await page.keyboard.press("ControlOrMeta+c");
  await expect(page.getByText("one copied as YAML")).toBeVisible();
  await page.keyboard.press("ControlOrMeta+v");
  await expect.poll(names).toBe("one one_2");
  await page.evaluate((url) => navigator.clipboard.writeText(`curl -X POST ${url} -H 'Authorization: Bearer s3cret' --json '{"a": 1}'`), made.endpoint);
  await page.keyboard.press("ControlOrMeta+v");
  await expect.poll(names).toBe("one one_2 request");
  await expect(page.getByRole("textbox", { name: "Code of request" })).toContainText("this.authorization");
  expect(await page.evaluate(() => JSON.stringify({ ...localStorage }))).not.toContain("s3cret");
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  await page.getByRole("tab", { name: "Configure" }).click();
  await expect(page.getByText("Set. It cannot be read back.")).toBeVisible();
  await page.evaluate(() => navigator.clipboard.writeText("hello"));
  await cards.getByRole("button", { name: "request code" }).focus();
  await page.keyboard.press("ControlOrMeta+v");
  await expect(page.getByText("Nothing was pasted")).toBeVisible();
});

test("the builder fits narrow screens", async ({ page, server }) => {
  const made = await workflow(server, "Narrow", { one: step("return 1;"), two: step("return 2;") });
  for (const [width, height] of [[1200, 768], [1024, 768], [380, 800]] as const) {
    await page.setViewportSize({ width, height });
    await page.goto(`/workflows/${made.id}/edit`);
    await expect(page.getByRole("textbox", { name: "Code of one" })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await write(page, "one", `return ${width}; }`);
    await expect(page.getByRole("button", { name: "Save", exact: true })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await expectAccessible(page);
    await shot(page, `narrow-${width}`);
    await write(page, "one", step(`return ${width};`));
    await expect(page.getByRole("button", { name: "Save", exact: true })).toBeHidden();
    await page.goto("/workflows");
    await expect(page.getByRole("link", { name: "Narrow" })).toBeVisible();
    expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(width);
    await expectAccessible(page);
  }
});

test("fix and finish: what failed at a step goes on from there with the mended version", async ({ page, server }) => {
  const made = await workflow(server, "Labels", {
    load: step("return Math.random();"),
    label: step("return steps.trigger.event.body.to.name;"),
  });
  for (const n of [1, 2]) await send(server, made, { n });
  await page.goto(`/workflows/${made.id}/edit?step=label`);
  await expect(page.getByRole("link", { name: "Errors 2" })).toBeVisible();
  await expect(page.getByText("2 runs of the live version failed at this step")).toBeVisible();
  await expectAccessible(page);
  await shot(page, "failing");
  await page.getByRole("link", { name: "Use the newest event" }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 2");
  await write(page, "label", step("return steps.trigger.event.body.to?.name ?? 'nobody';"));
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByRole("tree", { name: "Exports of label" })).toContainText("nobody");
  await page.keyboard.press("ControlOrMeta+Shift+d");
  await expect(page.getByRole("list", { name: "Changes" })).toContainText("label: code changed");
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await page.getByRole("button", { name: "Finish 2 failed runs…" }).click();
  await page.getByRole("dialog", { name: "Replay 2 runs" }).getByRole("button", { name: /^Replay/ }).click();
  await expect(page).toHaveURL(/\/replays\/rpl_/);
  const done = () => server.call<unknown[]>("GET", `/workflows/${made.id}/runs?status=succeeded&include=id`);
  await expect.poll(async () => (await done()).length).toBe(3);
  // Nothing of it is left to do: the error is resolved, and says so.
  await expect(page.getByText("It reopens if a run fails with it.")).toBeVisible();
  const groups = await server.call<{ state: string }[]>("GET", `/workflows/${made.id}/error_groups`);
  expect(groups.map(({ state }) => state)).toEqual(["resolved"]);

  // The live version is run by hand, with the event at hand.
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(page.getByText("failed at this step")).toBeHidden();
  await page.getByRole("button", { name: "More ways to run" }).click();
  await page.getByRole("menuitem", { name: "Run the live version with this event" }).click();
  await page.getByRole("button", { name: "View run" }).click();
  await expect(page).toHaveURL(/\/runs\/run_/);
});

test("a schedule says its words and its next times", async ({ page }) => {
  await page.goto("/workflows/new");
  await page.getByRole("radio", { name: "A schedule" }).click();
  await page.getByRole("button", { name: "Create workflow" }).click();
  await page.getByRole("navigation", { name: "Trigger and steps" }).getByRole("button", { name: "Schedule" }).click();
  await expect(page.getByText("Ticks every 15 minutes.")).toBeVisible();
  await page.getByRole("button", { name: "Cron", exact: true }).click();
  await expect(page.getByText(/At 09:00, Monday through Friday, in/)).toBeVisible();
  await expect(page.getByRole("list", { name: /^Next runs/ }).getByRole("listitem")).toHaveCount(5);
  await expectAccessible(page);
  await shot(page, "schedule");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
});

test("what somebody else saved meanwhile is not overwritten without a word", async ({ page, server, messages }) => {
  const made = await workflow(server, "Shared", { one: step("return 1;") });
  await readNothingNew(page);
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(page.getByRole("textbox", { name: "Code of one" })).toContainText("return 1");
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step("return 'theirs';") }] });
  await write(page, "one", step("return 'mine';"));
  const alert = page.getByRole("alert").filter({ hasText: "This draft was changed elsewhere" });
  await expect(alert).toBeVisible();
  await expectAccessible(page);
  await alert.getByRole("button", { name: "Use theirs" }).click();
  await expect(page.getByRole("textbox", { name: "Code of one" })).toContainText("theirs");
  await expect(alert).toBeHidden();
  // What was typed is an undo away.
  await page.getByRole("button", { name: "Undo: use the other draft" }).click();
  await expect(page.getByRole("textbox", { name: "Code of one" })).toContainText("mine");
  await page.keyboard.press("ControlOrMeta+s");
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();

  // Nor is it deployed unseen.
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step("return 'unseen';") }] });
  await page.getByRole("button", { name: "Deploy…" }).click();
  await page.getByRole("button", { name: "Deploy", exact: true }).click();
  await expect(page.getByRole("dialog").getByRole("alert")).toContainText("This draft was changed elsewhere");
  expect((await server.call<unknown[]>("GET", `/workflows/${made.id}/deployments`)).length).toBe(1);
  // The browser writes each refusal to its console.
  expect(messages.splice(0)).toEqual(Array(2).fill(expect.stringContaining("412")));
});

test("a viewer sees a workflow and no act that fails", async ({ page, server }) => {
  const made = await workflow(server, "Seen", { one: step("return 1;") });
  await page.route("**/v1/session", async (route) => {
    const answer = await route.fetch();
    const body = (await answer.json()) as { data: object };
    await route.fulfill({ response: answer, json: { data: { ...body.data, role: "viewer", scopes: ["read"] } } });
  });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(page.getByRole("textbox", { name: "Code of one" })).toHaveAttribute("aria-readonly", "true");
  for (const name of ["Deploy…", "Test all", "Test to here", "Rename", "Add a step"]) {
    await expect(page.getByRole("button", { name, exact: true })).toHaveAttribute("aria-disabled", "true");
  }
  await page.getByRole("button", { name: "More", exact: true }).click();
  await expect(page.getByRole("menuitem", { name: "Duplicate" })).toHaveAttribute("aria-disabled", "true");
  await page.keyboard.press("Escape");
  await expect(page.getByRole("switch")).toBeDisabled();
  await expectAccessible(page);
  await shot(page, "viewer");
});
