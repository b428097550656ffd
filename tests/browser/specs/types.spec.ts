// The language service of the code editor: by real data, in a worker, under the policy of the page.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow, write } from "../fixtures/workflows.ts";

test("from the first focus on, code is completed, explained and checked by the types of the event and of the results", async ({ page, server }) => {
  const made = await workflow(server, "Typed", {
    load: step(`return { lines: [{ sku: "bell", count: 2 }] };`),
    use: step("return 1;"),
  });
  await send(server, made, { customer: { name: "Ada" } });
  const workers: string[] = [];
  page.on("worker", (worker) => workers.push(worker.url()));
  await page.goto(`/workflows/${made.id}/edit?step=use`);
  const code = page.getByRole("textbox", { name: "Code of use" });
  await expect(code).toContainText("return 1");
  await page.getByRole("button", { name: "Test all" }).click();
  await expect(page.getByRole("tree", { name: "Exports of use" })).toContainText("1");
  expect(workers).toEqual([]);

  // A member that the event does not have: said in place, and below with its line.
  await write(page, "use", step("return steps.trigger.event.body.custmer;"));
  const status = page.getByRole("button", { name: "1 problem, line 3" });
  await expect(status).toBeVisible({ timeout: 60_000 });
  expect(workers).toEqual([expect.stringMatching(/\/assets\/worker-/)]);
  await expect(page.locator(".cm-lintRange-warning")).toHaveText("custmer");
  await expectAccessible(page);
  await status.click();
  await expect(code).toBeFocused();
  // By keys: the next problem, and what the name at the cursor is.
  await page.keyboard.press("F8");
  await expect(page.locator(".cm-tooltip").getByText(/Did you mean 'customer'/)).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  await write(page, "use", step("const [line] = steps.load.$return_value.lines;\n    return line.sku;"));
  await expect(page.getByText("No problems. Types come from this event.")).toBeVisible();
  await page.keyboard.press("ControlOrMeta+End");
  for (let up = 0; up < 3; up += 1) await page.keyboard.press("ArrowUp");
  await page.keyboard.press("End");
  await page.keyboard.press("ArrowLeft");
  await page.keyboard.press("ControlOrMeta+i");
  await expect(page.locator(".cm-says")).toContainText("sku: string");
  await expect(page.locator(".cm-says")).toContainText('"bell"');
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await expect(page.locator(".cm-says")).toBeHidden();

  // What no path of the data says, the types do: `line` is an element of a list.
  await page.keyboard.press("End");
  await page.keyboard.type(" line.");
  await expect(page.getByRole("option", { name: "count" })).toBeVisible();
  await expectAccessible(page);
  await page.keyboard.press("Escape");
  await page.keyboard.type("sku; $.fl");
  await expect(page.getByRole("option", { name: /^flow/ })).toBeVisible();
  await page.keyboard.press("Escape");

  // Format on demand, as one edit that can be undone.
  await write(page, "use", "export default defineComponent({\nrun( ) {\nreturn 7\n},\n})\n");
  await page.getByRole("button", { name: "Format" }).click();
  await expect(code).toContainText("  run() {    return 7  },");
  expect(workers.length).toBe(1);

  await page.setViewportSize({ width: 380, height: 800 });
  await code.focus();
  expect(await page.evaluate(() => document.documentElement.scrollWidth)).toBeLessThanOrEqual(380);
  await expectAccessible(page);
});

test("an editor whose worker cannot be had says so, and edits all the same", async ({ page, server, messages }) => {
  const made = await workflow(server, "No worker", { one: step("return 1;") });
  await page.route("**/assets/worker-*.js", (route) => route.abort());
  await page.goto(`/workflows/${made.id}/edit`);
  const code = page.getByRole("textbox", { name: "Code of one" });
  await code.focus();
  await page.keyboard.press("ControlOrMeta+End");
  await page.keyboard.type("// on");
  await expect(page.getByText("Types are not available; completion uses the test data.")).toBeVisible();
  await expect(page.locator(".bld-saved", { hasText: /^Saved/ })).toBeVisible();
  messages.splice(0);
});

test("text is found and replaced within the code, by the keyboard alone", async ({ page, server }) => {
  const made = await workflow(server, "Found", { one: step("const total = 1;\n    return total + total;") });
  await page.goto(`/workflows/${made.id}/edit?step=one`);
  const code = page.getByRole("textbox", { name: "Code of one" });
  await code.focus();
  await page.keyboard.press("ControlOrMeta+f");
  const words = page.getByRole("textbox", { name: "Find in this text" });
  await expect(words).toBeFocused();
  await page.keyboard.type("total");
  await expect(page.locator(".cm-searchMatch")).toHaveCount(3);
  await expectAccessible(page);
  if (process.env["PICTURES"] !== undefined) await page.screenshot({ path: `${process.env["PICTURES"]}/find.png` });
  await page.getByRole("textbox", { name: "Replace with" }).fill("sum");
  await page.getByRole("button", { name: "Replace all" }).click();
  await expect(code).toContainText("return sum + sum;");
  await page.keyboard.press("Escape");
  await expect(words).toBeHidden();
  await expect(code).toBeFocused();
  await page.keyboard.press("ControlOrMeta+z");
  await expect(code).toContainText("return total + total;");
});
