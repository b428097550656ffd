// What starts a workflow, set up in the builder: a source that is not there yet.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

const orders = `export default {
  name: "Orders on the spot", version: "0.1.0",
  props: { http: "$.interface.http", least: { type: "integer", label: "Least amount" } },
  run({ body }) { if (body.amount >= this.least) this.$emit(body, { summary: \`Order \${body.id}\` }); },
};`;

type Record = { triggers: { type: string; id: string }[] };

test("a source is deployed on the spot as a trigger, by its form, and its first event is seen and tested with", async ({ page, server }) => {
  const made = await workflow(server, "On the spot", { one: step("return steps.trigger.event.id;") });
  await page.goto(`/workflows/${made.id}/edit?step=trigger`);
  await page.getByRole("button", { name: "Add a trigger" }).click();
  await page.getByRole("menuitem", { name: "Events of a new source…" }).click();
  const dialog = page.getByRole("dialog", { name: "New source" });
  await expect(dialog.getByRole("heading", { name: "Where do events come from?" })).toBeVisible();
  await expectAccessible(page);
  await dialog.getByRole("textbox", { name: "Search, or paste a key, a URL or code" }).fill(orders);
  await dialog.getByRole("button", { name: "Check the code" }).click();
  await dialog.getByRole("button", { name: "Deploy source" }).click();
  await expect(dialog.getByRole("alert")).toContainText("1 field needs attention");
  await expect(dialog.getByLabel("Least amount")).toBeFocused();
  await dialog.getByLabel("Least amount").fill("10");
  await expectAccessible(page);
  await page.setViewportSize({ width: 380, height: 800 });
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(380);
  await dialog.getByRole("button", { name: "Deploy source" }).scrollIntoViewIfNeeded();
  await expectAccessible(page);
  await page.setViewportSize({ width: 1440, height: 900 });
  await dialog.getByRole("button", { name: "Deploy source" }).click();
  await expect(dialog).toBeHidden();

  // The trigger is the source, the draft is saved with it, and the first event is waited for.
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  await expect(cards.getByRole("button", { name: /^Orders on the spot/ })).toHaveAttribute("aria-current", "step");
  const events = page.getByRole("region", { name: "Events of the source" });
  await expect(events).toContainText("No events yet. Send it a request:");
  await expectAccessible(page);
  const endpoint = /curl (\S+)/.exec((await events.locator("pre").textContent()) ?? "")?.[1] ?? "";
  const record = () => server.call<Record>("GET", `/workflows/${made.id}`);
  await expect.poll(async () => (await record()).triggers.map(({ type }) => type)).toEqual(["http", "source"]);
  const post = (body: object) =>
    fetch(endpoint, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  await post({ id: 71, amount: 12 });
  await expect(events.getByRole("button", { name: /Order 71/ })).toBeVisible();
  await post({ id: 72, amount: 5 });
  await post({ id: 73, amount: 20 });
  await expect(events.getByRole("button", { name: /Order 73/ })).toBeVisible();
  await expect(events.getByRole("button")).toHaveCount(2);
  await expectAccessible(page);
  await events.getByRole("button", { name: /Order 71/ }).click();
  await expect(events.getByRole("button", { name: /Order 71/ })).toHaveAttribute("aria-pressed", "true");
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("amount: 12");
  await cards.getByRole("button", { name: /^one/ }).click();
  await page.getByRole("button", { name: "Test to here" }).click();
  await expect(page.getByRole("tree", { name: "Exports of one" })).toContainText("71");
});

test("by keys alone: a trigger that has no source yet gets a new one, which is run for its first event", async ({ page, server }) => {
  const made = await server.call<{ id: string }>("POST", "/workflows", { name: "By keys", steps: [{ namespace: "one", code: step("return 1;") }] });
  await page.goto(`/workflows/${made.id}/edit?step=trigger`);
  const add = page.getByRole("button", { name: "Add a trigger" });
  await add.focus();
  await page.keyboard.press("Enter");
  await page.getByRole("menuitem", { name: "Events of a source" }).press("Enter");
  await expect(page.getByText("Not saved: a trigger needs its source")).toBeVisible();
  await page.getByRole("button", { name: "Deploy a new source…" }).focus();
  await page.keyboard.press("Enter");
  const dialog = page.getByRole("dialog", { name: "New source" });
  await expect(dialog.getByRole("textbox", { name: "Search, or paste a key, a URL or code" })).toBeFocused();
  await page.keyboard.insertText(`export default { name: "Says hello", version: "1", run() { this.$emit({ hello: "keys" }, { summary: "hello" }); } };`);
  await page.keyboard.press("Tab");
  await expect(dialog.getByRole("button", { name: "Check the code" })).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(dialog.getByRole("button", { name: "Choose another" })).toBeVisible();
  await dialog.getByRole("button", { name: "Deploy source" }).focus();
  await page.keyboard.press("Enter");
  await expect(dialog).toBeHidden();
  const events = page.getByRole("region", { name: "Events of the source" });
  await events.getByRole("button", { name: "Run now" }).focus();
  await page.keyboard.press("Enter");
  await expect(events.getByRole("button", { name: /hello/ })).toBeVisible();
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  // With nothing chosen, its newest event is the one to test with.
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("keys");
});

test("waiting for the next request: a draft says what to do first, and a request that is kept for tests runs nothing", async ({ page, server }) => {
  const code = step("return steps.trigger.event.body.total;");
  const draft = await server.call<{ id: string }>("POST", "/workflows", {
    name: "Not deployed",
    triggers: [{ type: "http" }],
    steps: [{ namespace: "one", code }],
    settings: { auto_deploy: false },
  });
  await page.goto(`/workflows/${draft.id}/edit`);
  const wait = page.getByRole("button", { name: "Wait for the next event" });
  await wait.hover();
  await expect(page.getByText("accepts requests from the first deploy on. Deploy the draft")).toBeVisible();
  await expect(wait).toHaveAttribute("aria-disabled", "true");

  const made = await workflow(server, "Kept for tests", { one: code });
  await page.goto(`/workflows/${made.id}/edit?step=trigger`);
  await expect(page.getByText("x-pd-notrigger: 1 is stored as a test request")).toBeVisible();
  await wait.click();
  await expect(page.getByRole("button", { name: "Waiting, press to stop" })).toBeVisible();
  await expectAccessible(page);
  await fetch(made.endpoint, {
    method: "POST",
    headers: { "content-type": "application/json", "x-pd-notrigger": "1" },
    body: JSON.stringify({ total: 41 }),
  });
  await expect(page.getByText("An event arrived")).toBeVisible();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("total: 41");
  expect(await server.call<unknown[]>("GET", `/workflows/${made.id}/runs`)).toEqual([]);
});
