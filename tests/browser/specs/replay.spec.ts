// Replays: with which code, and with which event.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

const says = (word: string) => step(`return "${word} " + steps.trigger.event.body.n;`);

test("a run is replayed with what is live, with its own version or with the draft, and with an edited event", async ({ page, server }) => {
  const made = await workflow(server, "Versions", { say: says("first") });
  const run = await send(server, made, { n: 7 });
  const write = (word: string) => server.call("PUT", `/workflows/${made.id}`, { steps: [{ namespace: "say", code: says(word) }] });
  await write("second");
  await server.call("POST", `/workflows/${made.id}/deploy`, {});
  await write("third");
  const replay = async (act: string) => {
    await page.goto(`/runs/${run}#replay`);
    const dialog = page.getByRole("dialog");
    await expect(dialog.getByRole("radio", { name: /^Draft/ })).toBeVisible();
    return { dialog, go: dialog.getByRole("button", { name: act, exact: false }) };
  };
  const result = async () => {
    await expect(page).not.toHaveURL(new RegExp(run));
    const id = new URL(page.url()).pathname.split("/").at(-1) ?? "";
    return server.call<{ return_value: unknown; kind: string; event_edited: boolean; steps: { exports: { $return_value: unknown } }[] }>("GET", `/runs/${id}`);
  };

  const live = await replay("Replay from the trigger");
  const code = live.dialog.getByRole("radiogroup", { name: "Code" });
  await expect(code.getByRole("radio")).toHaveCount(3);
  await expect(code.getByRole("radio", { name: /^Live v2/ })).toBeChecked();
  await expect(live.dialog.getByRole("figure", { name: "Differences in say" })).toContainText("second");
  await expectAccessible(page);
  await live.go.click();
  expect((await result()).steps[0]?.exports.$return_value).toBe("second 7");

  const original = await replay("Replay from the trigger with v1");
  await original.dialog.getByRole("radio", { name: /^Original v1/ }).click();
  await expect(original.dialog.getByRole("figure", { name: "Differences in say" })).toHaveCount(0);
  await original.go.click();
  expect((await result()).steps[0]?.exports.$return_value).toBe("first 7");

  const draft = await replay("Replay from the trigger with the draft");
  await draft.dialog.getByRole("radio", { name: /^Draft/ }).click();
  await expect(draft.dialog.getByRole("figure", { name: "Differences in say" })).toContainText("third");
  await draft.dialog.getByRole("radio", { name: /^Edited/ }).click();
  const event = draft.dialog.getByRole("textbox", { name: "Event" });
  const type = async (text: string) => {
    await event.focus();
    await page.keyboard.press("ControlOrMeta+a");
    await page.keyboard.press("Delete");
    await page.keyboard.insertText(text);
  };
  await type("{ body: 8 }");
  await expect(draft.dialog.getByText('Line 1, column 3: text must be in quotes. Did you mean "body"?')).toBeVisible();
  await expect(draft.go).toBeDisabled();
  await type('{ "body": { "n": 8 } }');
  await expectAccessible(page);
  await draft.go.click();
  const edited = await result();
  expect(edited.steps[0]?.exports.$return_value).toBe("third 8");
  expect([edited.kind, edited.event_edited]).toEqual(["test", true]);
  await expect(page.getByText("with an edited event")).toBeVisible();
});
