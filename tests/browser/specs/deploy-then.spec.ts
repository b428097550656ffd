// What a deploy warns of, and what follows it in the same act.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow, write } from "../fixtures/workflows.ts";

test("a deploy warns of steps that were not tested, and sends the chosen event and finishes what failed in the same act", async ({ page, server }) => {
  const made = await workflow(server, "Then", { load: step("return steps.trigger.event.body;"), label: step(`return steps.trigger.event.body.to.name;`) });
  await send(server, made, { n: 1 });
  const failed = await send(server, made, { n: 2 });
  await page.goto(`/workflows/${made.id}/edit?run=${failed}`);
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 2");
  await write(page, "label", step("return steps.trigger.event.body.to?.name ?? 'nobody';"));
  await page.keyboard.press("ControlOrMeta+Shift+d");
  const dialog = page.getByRole("dialog", { name: "Deploy, compared with v1" });
  await expect(dialog).toContainText("label is not tested");
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.press("ControlOrMeta+Shift+Enter");
  await expect(page.getByRole("tree", { name: "Exports of label" })).toContainText("nobody");
  await page.keyboard.press("ControlOrMeta+Shift+d");
  await expect(dialog.getByRole("checkbox", { name: /^finish the 2 runs that failed at label/ })).toBeVisible();
  await expect(dialog).not.toContainText("not tested");
  await dialog.getByRole("checkbox", { name: /^run it with the chosen event/ }).click();
  await dialog.getByRole("checkbox", { name: /^finish the 2 runs/ }).click();
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByText("v2 live")).toBeVisible();
  const ended = () => server.call<{ status: string; version: number }[]>("GET", `/workflows/${made.id}/runs?limit=100&status=succeeded&include=status,version,kind`);
  await expect.poll(async () => (await ended()).filter((run) => run.version === 2).length).toBe(3);
  const [group] = await server.call<{ state: string }[]>("GET", `/workflows/${made.id}/error_groups`);
  expect(group?.state).toBe("resolved");
});

test("a replay of an error's runs says why the error stays open, or offers to resolve it", async ({ page, server }) => {
  const made = await workflow(server, "Stays open", { label: step(`return steps.trigger.event.body.to.name;`) });
  await send(server, made, { n: 1 });
  const [group] = await server.call<{ id: string }[]>("GET", `/workflows/${made.id}/error_groups`);
  const replayed = async () => (await server.call<{ id: string }>("POST", "/replays", { workflow_id: made.id, group: group?.id, from_failed: true })).id;
  await page.goto(`/replays/${await replayed()}`);
  await expect(page.getByText("1 run failed again")).toBeVisible();
  await expect(page.getByRole("link", { name: "TypeError at label" })).toBeVisible();

  await server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "label", code: step("return 1;") }] });
  await server.call("POST", `/workflows/${made.id}/deploy`, {});
  await page.goto(`/replays/${await replayed()}`);
  await expect(page.getByText("The error is still open")).toBeVisible();
  await expectAccessible(page);
  await page.getByRole("button", { name: "Resolve" }).click();
  await expect(page.getByText("It reopens if a run fails with it.")).toBeVisible();
});

test("the event of the run that the address names is there before anything is tested, and rehearsals do not fill the choice of events", async ({ page, server }) => {
  const made = await workflow(server, "Chosen", { one: step("return steps.trigger.event.body;") });
  const runs = [];
  for (const n of [1, 2, 3]) runs.push(await send(server, made, { n }));
  let release = () => {};
  const held = new Promise<void>((done) => {
    release = done;
  });
  await page.route(`**/v1/runs/${runs[0]}`, async (route) => {
    await held;
    await route.continue();
  });
  await page.goto(`/workflows/${made.id}/edit?run=${runs[0]}`);
  const bar = page.locator(".bld-event-bar");
  await expect(bar).toContainText("Loading the event…");
  await expect(bar).not.toContainText("Sample");
  await expect(page.getByRole("button", { name: "Test all" })).toHaveAttribute("aria-disabled", "true");
  release();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 1");
  await expect(bar).toContainText("Run that succeeded");

  // Ten tests of a rehearsal, and the choice has the three events that really came.
  for (let n = 0; n < 10; n += 1) await server.call("POST", "/workflows/test", { workflow_id: made.id, triggers: [{ type: "http" }], steps: [{ namespace: "one", code: step("return 1;") }], event: { n } });
  await page.reload();
  await bar.locator(".event-pick").click();
  await expect(page.getByRole("menuitem").filter({ hasText: "succeeded" })).toHaveCount(3);
  // The event that is chosen is the same after a reload.
  await page.getByRole("menuitem").filter({ hasText: "succeeded" }).nth(1).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 2");
  await page.reload();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 2");
  // An edited copy is there after a reload.
  await page.getByRole("button", { name: "Edit a copy" }).click();
  const dialog = page.getByRole("dialog", { name: "Edit a copy of the event" });
  await dialog.getByRole("textbox", { name: "Event" }).focus();
  await page.keyboard.press("ControlOrMeta+a");
  await page.keyboard.press("Delete");
  await page.keyboard.insertText('{ "body": { "n": "edited" } }');
  await page.keyboard.press("ControlOrMeta+Enter");
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("edited");
  await page.reload();
  await bar.locator(".event-pick").click();
  await page.getByRole("menuitem", { name: /^Edited copy/ }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("edited");
});

test("a mail about an error leads to the failing step in the editor, with the event that it failed on", async ({ page, server }) => {
  const made = await workflow(server, "By mail", { load: step("return 1;"), label: step(`return steps.trigger.event.body.to.name;`) });
  const run = await send(server, made, { n: 3 });
  const about = async () => (await server.call<{ text: string }[]>("GET", "/mail")).find(({ text }) => text.includes(run))?.text;
  await expect.poll(about).toContain("Mend:");
  await page.goto(/Mend: +(\S+)/.exec((await about()) ?? "")?.[1] ?? "");
  await expect(page.getByRole("region", { name: "Step label" })).toBeVisible();
  await expect(page.getByRole("alert").filter({ hasText: "This step failed in this run" })).toContainText("TypeError");
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("n: 3");
});
