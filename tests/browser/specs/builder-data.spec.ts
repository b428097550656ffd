// Data at hand in the builder: values of the event and of earlier steps picked for fields; tests that are watched and stopped.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow, write } from "../fixtures/workflows.ts";

const asks = `export default defineComponent({
  props: {
    street: { type: "string", label: "Street", optional: true },
    kind: { type: "string", label: "Kind", options: ["express", "plain"], optional: true },
    count: { type: "integer", label: "Count", optional: true },
    more: { type: "object", label: "More", optional: true },
  },
  run() {
    return [this.street, this.kind, this.count, this.more];
  },
});
`;

test("values of the event and of earlier steps are picked for fields, by click and by keys", async ({ page, server }) => {
  const made = await workflow(server, "Picks", {
    load: step(`return { address: { street: "Mill lane", number: 7 }, kind: "express" };`),
    label: asks,
  });
  await send(server, made, { total: 12 });
  await page.goto(`/workflows/${made.id}/edit?step=label`);
  await page.getByRole("tab", { name: "Configure" }).click();
  const data = page.getByRole("complementary", { name: "Data" });
  const field = (name: string) => page.getByRole("textbox", { name, exact: true });

  const pick = (name: string) => page.locator(".prop").filter({ hasText: name }).getByRole("button", { name: "Pick data" });

  // By click: the field has the focus, the value is chosen, and goes to the cursor.
  await field("Street").fill("at ");
  await data.getByRole("combobox", { name: "Data shown" }).click();
  await page.getByRole("option", { name: "load" }).click();
  const results = data.getByRole("tree", { name: "Result of load" });
  await results.getByRole("treeitem", { name: /^street/ }).click();
  await expectAccessible(page);
  await data.getByRole("button", { name: "Insert into Street" }).click();
  await expect(field("Street")).toHaveValue("at {{steps.load.$return_value.address.street}}");
  await expect(field("Street")).toBeFocused();
  await expect(page.getByLabel("Value").first()).toHaveText('"at Mill lane"');

  // By keys: from the field to the data, and back with a value. What chooses among options takes one too.
  await pick("Kind").focus();
  await page.keyboard.press("Enter");
  await expect(results).toBeFocused();
  await page.keyboard.press("End");
  await page.keyboard.press("Enter");
  await expect(field("Kind")).toHaveValue("{{steps.load.$return_value.kind}}");
  await expect(field("Kind")).toBeFocused();

  // Of the event, into a number and an object.
  await data.getByRole("combobox", { name: "Data shown" }).click();
  await page.getByRole("option", { name: "Event" }).click();
  const total = data.getByRole("tree", { name: "Event" }).getByRole("treeitem", { name: /^total/ });
  for (const name of ["Count", "More"]) {
    await pick(name).click();
    await total.click();
    await data.getByRole("button", { name: `Insert into ${name}` }).click();
    const path = "{{steps.trigger.event.body.total}}";
    if (name === "Count") await expect(field(name)).toHaveValue(path);
    else await expect(field(name).locator(".cm-line")).toHaveText(path);
    await expect(field(name)).toBeFocused();
  }

  // The step gets the values.
  await page.getByRole("button", { name: "Test to here" }).click();
  const exports = page.getByRole("tree", { name: "Exports of label" });
  await expect(exports).toContainText("at Mill lane");
  await expect(exports).toContainText("express");
  await expect(exports).toContainText("12");
  await expectAccessible(page);
});

test("expressions are typed into any field without losing the focus, and stay within their objects", async ({ page, server }) => {
  const made = await workflow(server, "Typed", { label: asks });
  await page.goto(`/workflows/${made.id}/edit?step=label`);
  await page.getByRole("tab", { name: "Configure" }).click();
  const field = (name: string) => page.getByRole("textbox", { name, exact: true });
  await field("Count").click();
  await page.keyboard.type("{{steps.trigger.event.body.d}}");
  await expect(field("Count")).toHaveValue("{{steps.trigger.event.body.d}}");
  await field("More").click();
  await page.keyboard.insertText('{"user": "{{steps.trigger');
  await page.keyboard.insertText('.event.body.user}}", "n": 1}');
  await expect(field("More")).toBeFocused();
  // Another field is edited: the object stays one.
  await field("Street").fill("Mill lane");
  const stored = async () => {
    const { steps } = await server.call<{ steps: { configured_props_json: string }[] }>("GET", `/workflows/${made.id}`);
    return JSON.parse(steps[0]?.configured_props_json ?? "{}");
  };
  await expect
    .poll(stored)
    .toEqual({ street: "Mill lane", count: "{{steps.trigger.event.body.d}}", more: { user: "{{steps.trigger.event.body.user}}", n: 1 } });

  // From an expression back to what was chosen, and the other way.
  await page.getByRole("combobox", { name: "Kind" }).click();
  await page.getByRole("option", { name: "plain" }).click();
  await page.getByRole("button", { name: "Use an expression" }).click();
  await expect(field("Kind")).toBeFocused();
  await field("Kind").fill("{{'express'}}");
  await page.getByRole("button", { name: "Use a value" }).click();
  await expect(page.getByRole("combobox", { name: "Kind" })).toHaveText("plain");
  await page.getByRole("button", { name: "Use an expression" }).click();
  await expect(field("Kind")).toHaveValue("{{'express'}}");
});

test("a test is watched step by step, also after a reload, and stopped; what did not run is as it was", async ({ page, server }) => {
  // The second step goes on until it is stopped.
  const made = await workflow(server, "Watched", {
    quick: step("return 1;"),
    slow: step(`console.log("has begun"); await new Promise(() => setInterval(() => {}, 1_000));`),
    last: step("return 3;"),
  });
  await page.goto(`/workflows/${made.id}/edit?step=slow`);
  const cards = page.getByRole("navigation", { name: "Trigger and steps" });
  const card = (name: string) => cards.getByRole("button", { name: new RegExp(`^${name}`) });
  await page.getByRole("button", { name: "Test all" }).click();
  await expect(card("quick")).toContainText("succeeded");
  await expect(card("slow")).toContainText("running");
  await expect(card("last")).toContainText("queued in this test");
  await expect(page.getByText("slow, 2 of 3")).toBeVisible();
  await expect(page.getByRole("region", { name: "Logs of slow" })).toContainText("has begun");
  await expectAccessible(page);

  // A page that is loaded again goes on watching it.
  await page.reload();
  await expect(card("slow")).toContainText("running");
  await expect(card("quick")).toContainText("succeeded");
  await expect(page.getByRole("region", { name: "Logs of slow" })).toContainText("has begun");

  await page.getByRole("button", { name: "Stop", exact: true }).click();
  await expect(page.getByRole("button", { name: "Test all" })).toBeEnabled();
  await expect(page.getByRole("button", { name: "Stop", exact: true })).toHaveCount(0);
  await expect(card("quick")).toContainText("succeeded");
  await expect(card("last")).not.toContainText("succeeded");
  const [run] = await server.call<{ kind: string; status: string }[]>("GET", `/workflows/${made.id}/runs?limit=1&include=kind,status`);
  expect(run).toMatchObject({ kind: "test", status: "cancelled" });

  // Mended, it goes on to the end.
  await write(page, "slow", step("return 2;"));
  await page.getByRole("button", { name: "Test all" }).click();
  await expect(card("last")).toContainText("succeeded");
  await expect(page.getByRole("tree", { name: "Exports of slow" })).toContainText("2");
});
