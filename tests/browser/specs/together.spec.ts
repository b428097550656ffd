// Two people at one draft, a project beside the browser, a rehearsal before a deploy, and runs side by side.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { readNothingNew, send, step, workflow, write } from "../fixtures/workflows.ts";
import type { Page } from "@playwright/test";

type Record = { steps: { namespace: string; savedComponent: { code: string } }[] };

const editor = (page: Page, name: string) => page.getByRole("textbox", { name: `Code of ${name}` });
const saved = (page: Page) => page.locator(".bld-saved", { hasText: /^Saved/ });

test("'two people, one draft': different changes are kept both, and each same one is decided", async ({ page, server, messages }) => {
  const made = await workflow(server, "Together", { one: step("return 1;"), two: step("return 2;") });
  const codes = async () => {
    const record = await server.call<Record>("GET", `/workflows/${made.id}`);
    return record.steps.map(({ namespace, savedComponent }) => `${namespace}: ${savedComponent.code}`).join("\n");
  };
  await readNothingNew(page);
  await page.goto(`/workflows/${made.id}/edit?step=one`);
  await expect(editor(page, "one")).toContainText("return 1");
  const theirs = (one: string, two: string) =>
    server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step(one) }, { namespace: "two", code: step(two) }, { namespace: "three", code: step("return 3;") }] });
  await theirs("return 1;", "return 'theirs';");
  await write(page, "one", step("return 'mine';"));
  const alert = page.getByRole("alert").filter({ hasText: "This draft was changed elsewhere" });
  await expect(alert).toContainText("both can be kept");
  await expectAccessible(page);
  await alert.getByRole("button", { name: "Keep both" }).click();
  await expect(alert).toBeHidden();
  await expect(saved(page)).toBeVisible();
  await expect.poll(codes).toContain("'mine'");
  expect(await codes()).toContain("'theirs'");
  await expect(page.getByRole("navigation", { name: "Trigger and steps" })).toContainText("three");

  // Now both change the same step: each sees how it was and what it became.
  await theirs("return 'of them';", "return 'theirs';");
  await write(page, "one", step("return 'of me';"));
  await alert.getByRole("button", { name: "Resolve 1 change…" }).click();
  const dialog = page.getByRole("dialog", { name: "Changed by both" });
  await expect(dialog.getByRole("figure", { name: "Your one: code" })).toContainText("of me");
  await expect(dialog.getByRole("figure", { name: /^one: code of/ })).toContainText("of them");
  await expectAccessible(page);
  await dialog.getByRole("group", { name: "Which one: code" }).getByRole("button").nth(1).click();
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(dialog).toBeHidden();
  await expect(editor(page, "one")).toContainText("of them");
  await page.getByRole("button", { name: "Undo: merge both drafts" }).click();
  await expect(editor(page, "one")).toContainText("of me");
  await expect.poll(codes).toContain("of me");
  expect(messages.splice(0).filter((message) => !message.includes("412"))).toEqual([]);
});

test("'I typed nothing, and it blames me': an unchanged draft follows what is saved elsewhere, a changed one says at once that it was", async ({ page, server, messages }) => {
  const made = await workflow(server, "Followed", { one: step("return 1;") });
  const save = (code: string) => server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step(code) }] });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(editor(page, "one")).toContainText("return 1");
  await save("return 'of the files';");
  await server.call("POST", `/workflows/${made.id}/deploy`, { message: "Saved in millrace dev" });
  await expect(editor(page, "one")).toContainText("of the files", { timeout: 15_000 });
  await expect(page.getByText("v2 live")).toBeVisible();
  await expect(page.getByText(/^draft, /)).toBeHidden();
  await expect(page.getByRole("button", { name: "Nothing to undo" })).toBeDisabled();

  // What is typed here waits for an answer.
  await page.route(`**/v1/workflows/${made.id}`, (route) => (route.request().method() === "PUT" ? route.fulfill({ status: 503, json: {} }) : route.fallback()));
  await write(page, "one", step("return 'mine';"));
  await expect(page.getByText("Not saved: the server failed")).toBeVisible();
  await save("return 'of the files again';");
  const alert = page.getByRole("alert").filter({ hasText: "This draft was changed elsewhere" });
  await expect(alert).toBeVisible({ timeout: 15_000 });
  await expect(editor(page, "one")).toContainText("mine");
  await alert.getByRole("button", { name: "Use theirs" }).click();
  await expect(editor(page, "one")).toContainText("of the files again");
  expect(messages.splice(0).filter((message) => !message.includes("503"))).toEqual([]);
});

test("'the next apply undoes it': a workflow that a project manages says so, and gives the change as files", async ({ page, server }) => {
  const made = await workflow(server, "Managed", { one: step("return 1;") });
  await server.call("POST", `/workflows/${made.id}/deploy`, {});
  await server.call("PUT", `/workflows/${made.id}`, { made_from: { project: "shop", path: "workflows/managed", fingerprints: { steps: "ab12" } } });
  await page.goto(`/workflows/${made.id}/edit`);
  await expect(page.getByText("Managed by project shop")).toBeVisible();
  await write(page, "one", step("return 'changed here';"));
  await expect(saved(page)).toBeVisible();
  await page.getByRole("button", { name: "Changes as files…" }).click();
  const dialog = page.getByRole("dialog", { name: "Changes as files" });
  const file = dialog.getByRole("region", { name: "workflows/managed/steps/one.mjs" });
  await expect(file.getByRole("figure")).toContainText("changed here");
  await expect(dialog.getByRole("region")).toHaveCount(1);
  await expectAccessible(page);
  const download = page.waitForEvent("download");
  await file.getByRole("link", { name: "Download" }).click();
  expect((await download).suggestedFilename()).toBe("one.mjs");
});

test("a draft is rehearsed with the events that came, and a run is compared with what it was", async ({ page, server }) => {
  const made = await workflow(server, "Rehearsed", {
    load: step("return steps.trigger.event.body.total;"),
    check: step("return steps.load.$return_value > 10 ? 'large' : 'small';"),
  });
  for (const total of [3, 12, 30]) await send(server, made, { total });
  await page.goto(`/workflows/${made.id}/edit?step=check`);
  await write(page, "check", step("if (steps.load.$return_value > 20) throw new RangeError('too much'); return steps.load.$return_value > 5 ? 'large' : 'tiny';"));
  await expect(saved(page)).toBeVisible();
  await page.keyboard.press("ControlOrMeta+Shift+d");
  await page.getByRole("button", { name: "Rehearse with the last 10 events" }).click();
  const outcomes = page.getByRole("list", { name: "Outcomes" }).getByRole("listitem");
  await expect(outcomes).toHaveCount(3);
  await expect(outcomes.nth(0)).toContainText("throws now");
  await expect(outcomes.nth(1)).toContainText("same");
  await expect(outcomes.nth(2)).toContainText("differs");
  await expect(page.getByText("1 same, 1 differ, 1 throws now")).toBeVisible();
  await expectAccessible(page);
  // Nothing was deployed.
  expect((await server.call<unknown[]>("GET", `/workflows/${made.id}/deployments`)).length).toBe(1);

  const [compared] = await Promise.all([page.context().waitForEvent("page"), outcomes.nth(2).getByRole("link", { name: "Compare" }).click()]);
  await expect(compared.getByRole("region", { name: "load" })).toContainText("same");
  await expect(compared.getByRole("list", { name: "Differences of check" })).toContainText('"small" → "tiny"');
  await expectAccessible(compared);
  await compared.close();
});

test("'which version did this run have?': deployments stand between runs, and a save of millrace dev shows the same event before and after", async ({ page, server }) => {
  const made = await workflow(server, "Watched", { one: step("return 'before';") });
  await send(server, made, { n: 1 });
  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "one", code: step("return 'after';") }] });
  await server.call("POST", `/workflows/${made.id}/deploy`, { message: "Saved in millrace dev" });
  await page.goto(`/workflows/${made.id}/runs`);
  const runs = page.getByRole("table", { name: "Runs" });
  await expect(runs.getByRole("row").filter({ hasText: "Succeeded" })).toHaveCount(1);
  await send(server, made, { n: 1 });
  const mark = runs.getByRole("row").filter({ hasText: "Saved in millrace dev" });
  await expect(mark).toContainText("one differs");
  // Whoever changes it here is told that the files have it.
  await expect(page.getByText(/millrace dev saved v2/)).toBeVisible();
  await expectAccessible(page);
  const rows = (await runs.getByRole("row").allTextContents()).slice(1);
  expect(rows.map((text) => (text.includes("millrace dev") ? "v2" : text.includes("v1") ? "v1" : "run"))).toEqual(["run", "v2", "run", "v1"]);
  await mark.getByRole("link", { name: "compare" }).click();
  await expect(page.getByRole("heading", { name: "Compare runs" })).toBeVisible();
  await expect(page.getByRole("list", { name: "Differences of one" })).toContainText('"before" → "after"');
  await expect(page.getByRole("figure", { name: "Code of one" })).toContainText("after");
  const code = `export default { name: "From files", version: "0.1.0", props: { http: "$.interface.http" }, run() {} };`;
  const source = await server.call<{ id: string }>("POST", "/sources", { component_code: code, message: "Saved in millrace dev" });
  await page.goto(`/sources/${source.id}`);
  await expect(page.getByText(/millrace dev saved v1/)).toBeVisible();
  await expectAccessible(page);
});

test("a component is added by its address, which is read by a button only", async ({ page, server, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const made = await workflow(server, "Brought", { one: step("return 1;") });
  await page.goto(`/workflows/${made.id}/edit`);
  await page.evaluate(() => navigator.clipboard.writeText("https://code.example/action.mjs"));
  const action = await server.call<object>("POST", "/components", {
    component_code: `export default { name: "Greet", version: "0.0.1", type: "action", props: { word: { type: "string", label: "Word" } }, run() { return this.word; } };`,
  });
  // The address is not ours to ask: the server's answer for it is that of the same code.
  let asked = 0;
  await page.route("**/v1/components", async (route) => {
    if (route.request().method() !== "POST") return route.fallback();
    expect(route.request().postDataJSON()).toEqual({ component_url: "https://code.example/action.mjs" });
    asked += 1;
    await route.fulfill({ json: { data: action } });
  });
  await page.getByRole("button", { name: /^one/ }).focus();
  await page.keyboard.press("ControlOrMeta+v");
  const dialog = page.getByRole("dialog", { name: "Add a step" });
  await expect(dialog).toContainText("https://code.example/action.mjs");
  expect(asked).toBe(0);
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Load the code" }).click();
  await expect(page.getByRole("heading", { name: "Greet" })).toBeVisible();
  await page.getByLabel("Word").fill("hello");
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(page.getByRole("tree", { name: "Exports of Greet" })).toContainText("hello");
  await expect(saved(page)).toBeVisible();
});
