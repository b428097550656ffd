// Errors in their groups, and the state that people give them.
import { startServer } from "../fixtures/server.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

test("an error is resolved, comes back with a later run, and is ignored; the side bar counts those that are open", async ({ browser }) => {
  const server = await startServer();
  const context = await browser.newContext({ extraHTTPHeaders: { authorization: `Bearer ${server.key}` }, reducedMotion: "reduce", baseURL: server.url });
  const page = await context.newPage();
  await server.call("PUT", `/orgs/${server.org}`, { error_recipients: ["mill@northgate.example"] });
  await page.goto("/errors");
  await expect(page.getByText("No failed run in 30 days.")).toBeVisible();
  await expect(page.getByText("are mailed to mill@northgate.example.")).toBeVisible();
  await expectAccessible(page);
  const made = await workflow(server, "Changelogs", { post: step(`throw new RangeError("no such shelf");`) });
  await send(server, made, { shelf: "A1" });
  const side = page.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name: /^Errors/ });
  await page.goto("/errors");
  await expect(side).toContainText("1 open");
  const about = page.getByRole("region", { name: "Error" });
  const lately = about.getByRole("region", { name: "Recent activity" });
  await expect(lately.getByRole("img", { name: "1 error in 14 days, 1 of them today" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Errors" }).getByRole("img", { name: "1 error in 14 days, 1 of them today" })).toBeVisible();
  await expect(lately.getByRole("listitem")).toHaveCount(1);
  await lately.getByRole("link", { name: "All of RangeError" }).click();
  await expect(page.getByRole("button", { name: "Error: RangeError" })).toBeVisible();
  await expect(page.getByRole("table", { name: "Runs" }).getByRole("link", { name: /no such shelf/ })).toHaveCount(1);
  await page.goBack();
  await about.getByRole("button", { name: "Resolve" }).click();
  await expect(page.getByText("No open errors.")).toBeVisible();
  await expect(page.getByText("1 run failed in 30 days; none of their errors is open.")).toBeVisible();
  await expect(side).not.toContainText("open");
  await page.getByRole("button", { name: "Resolved" }).click();
  await expect(page).toHaveURL(/show=resolved/);
  await expect(page.getByRole("table", { name: "Errors" })).toContainText("RangeError");
  await expect(about.getByRole("list", { name: "History" })).toContainText("resolved by");

  await send(server, made, { shelf: "A1" });
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page.getByRole("table", { name: "Errors" })).toContainText("Regressed");
  await expect(about.getByRole("list", { name: "History" })).toContainText("regressed with run_");
  await expectAccessible(page);
  await about.getByRole("button", { name: "Ignore" }).click();
  await page.getByRole("button", { name: "Ignored" }).click();
  await expect(about.getByRole("button", { name: "Reopen" })).toBeVisible();
  await send(server, made, { shelf: "A1" });
  await page.getByRole("button", { name: "Open", exact: true }).click();
  await expect(page.getByText("No open errors.")).toBeVisible();
  await context.close();
  await server.stop();
});

test("the place that threw, and how its line begins, are in view at any width", async ({ page, server }) => {
  const made = await workflow(server, "Long lines", {
    post: step(`const { body } = steps.trigger.event;
    return { to: body.customer.name, currency: body.currency, amount: body.amount, street: body.customer.address.street };`),
  });
  const run = await send(server, made, { customer: { name: "Ada Berg" } });
  for (const width of [1440, 380]) {
    await page.setViewportSize({ width, height: 800 });
    await page.goto(`/runs/${run}`);
    const code = page.getByRole("figure", { name: "Code" });
    await expect(code.locator("mark")).toHaveText("street");
    await expect(code).toContainText("return { to: body.customer.name");
    const beyond = await code.evaluate((box) => {
      const edge = box.getBoundingClientRect();
      return [...box.querySelectorAll("span, mark")].filter((piece) => {
        const { left, right } = piece.getBoundingClientRect();
        return left < edge.left || right > edge.right;
      }).length;
    });
    expect(beyond).toBe(0);
    await expectAccessible(page);
  }
});
