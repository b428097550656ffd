import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

const steps = {
  load_order: step(`console.log("loading", steps.trigger.event.body.order);
    $.export("$summary", "Order " + steps.trigger.event.body.order);
    return { lines: [1, 2] };`),
  create_label: step(`const { order } = { order: steps.trigger.event.body };
    // The address is where the carrier wants it.
    const to = order.shipping_details.address;
    return to;`),
  mail_customer: step("return 1;"),
};

test("a failed run opens at its error: the line, what is different, and replay from the step", async ({ page, server }) => {
  const made = await workflow(server, "Order fulfilment", steps);
  await send(server, made, { order: 1, shipping_details: { address: "Nygårdsgaten 5" } });
  const id = await send(server, made, { order: 2, collected: true });

  await page.goto(`/runs/${id}`);
  const main = page.getByRole("main");
  await expect(main.getByText("Failed", { exact: true })).toBeVisible();
  await expect(page.getByRole("tab", { name: "Error" })).toHaveAttribute("aria-selected", "true");
  await expect(main).toContainText("TypeError");
  await expect(main).toContainText("Cannot read properties of undefined (reading 'address')");
  const code = page.getByRole("figure", { name: "Code" });
  await expect(code).toContainText("const to = order.shipping_details.address;");
  await expect(code.locator(".is-hot")).toContainText("shipping_details");
  await expect(main).toContainText("event.body.shipping_details");
  await expect(page.getByRole("button", { name: /mail_customer/ })).toContainText("not reached");
  await expectAccessible(page);

  // The steps by arrows, the tabs by figures.
  await page.getByRole("button", { name: /failed: create_label/ }).focus();
  await page.keyboard.press("ArrowUp");
  await expect(page.getByRole("tab", { name: "Exports" })).toBeVisible();
  await expect(page.getByRole("tree")).toContainText("Order 2");
  await expectAccessible(page);
  await page.getByRole("button", { name: /HTTP request/ }).click();
  await expect(page.getByRole("tree", { name: "Event" })).toContainText("collected: true");

  // Replay from the failed step keeps the results before it.
  await page.keyboard.press("Shift+R");
  const dialog = page.getByRole("dialog", { name: /Replay/ });
  await expect(dialog.getByRole("list", { name: "What runs again" })).toContainText("load_orderkept");
  await expect(dialog.getByRole("radio", { name: /From create_label/ })).toBeChecked();
  await expectAccessible(page);
  await dialog.getByRole("button", { name: "Replay from create_label" }).click();
  await expect(page).not.toHaveURL(new RegExp(id));
  await expect(main.getByText("Failed", { exact: true })).toBeVisible();
  await expect(main.getByText("replay", { exact: true })).toBeVisible();
});

test("the dialog shows the code that changed since, and the link of mails opens it without running anything", async ({ page, server }) => {
  const made = await workflow(server, "Labels", steps);
  const id = await send(server, made, { order: 3 });
  await server.call("PUT", `/workflows/${made.id}`, {
    steps: Object.entries({
      ...steps,
      create_label: steps.create_label.replace("order.shipping_details.address", "order.shipping_details?.address"),
    }).map(([namespace, code]) => ({ namespace, code })),
  });
  await server.call("POST", `/workflows/${made.id}/deploy`);
  await page.goto(`/runs/${id}#replay`);
  const dialog = page.getByRole("dialog", { name: /Replay/ });
  await expect(dialog).toContainText("This run had v1");
  const difference = dialog.getByRole("figure", { name: "Difference of create_label" });
  await expect(difference.locator(".is-del")).toContainText("order.shipping_details.address");
  await expect(difference.locator(".is-add")).toContainText("order.shipping_details?.address");
  const runs = await server.call<unknown[]>("GET", `/workflows/${made.id}/runs`);
  expect(runs).toHaveLength(1);
  await page.keyboard.press("Control+Enter");
  await expect(page.getByRole("main").getByText("Succeeded", { exact: true })).toBeVisible();
});

test("an error is copied as Markdown with secrets masked", async ({ page, server, context }) => {
  await context.grantPermissions(["clipboard-read", "clipboard-write"]);
  const made = await workflow(server, "Masked", steps);
  const id = await send(server, made, { order: 4, api_key: "sk_live_123" });
  await page.goto(`/runs/${id}`);
  await page.getByRole("button", { name: "Copy for an issue" }).click();
  await expect(page.getByText("Copied as Markdown")).toBeVisible();
  const text = await page.evaluate(() => navigator.clipboard.readText());
  expect(text).toContain("## TypeError: Cannot read properties of undefined");
  expect(text).toContain("const to = order.shipping_details.address;");
  expect(text).not.toContain("sk_live_123");
});

test("a run that is not there says so", async ({ page, messages }) => {
  await page.goto("/runs/run_0000000000000000000000000000");
  await expect(page.getByRole("alert")).toContainText("The run could not be read");
  await expectAccessible(page);
  // The browser itself writes of the answer 404.
  expect(messages.splice(0).every((message) => message.includes("404"))).toBe(true);
});
