// Acts at the end of something: a domain that is detached, an account that is connected again.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

test("a domain is detached after a question", async ({ page, server }) => {
  const made = await workflow(server, "Answers", { only: step("return 1;") });
  const { triggers } = await server.call<{ triggers: { id: string }[] }>("GET", `/workflows/${made.id}`);
  await server.call("POST", "/domains", { domain: "hooks.northgate.example", endpoint_id: triggers[0]?.id });
  await page.goto("/settings/domains");
  const row = page.getByRole("row").filter({ hasText: "hooks.northgate.example" });
  await expect(row).toContainText("Answers");
  await row.getByRole("button", { name: "Detach hooks.northgate.example" }).click();
  const asks = page.getByRole("dialog");
  await expect(asks).toContainText("Requests to it will be answered with 404.");
  await expectAccessible(page);
  await asks.getByRole("button", { name: "Detach domain" }).click();
  await expect(row).toHaveCount(0);
  expect(await server.call<unknown[]>("GET", "/domains")).toEqual([]);
});

test("an account that its provider refuses is connected again where it says so", async ({ page, server }) => {
  await server.call("POST", "/apps", { name_slug: "ends_shop", name: "Ends Shop", auth_type: "keys", custom_fields: [{ name: "api_key", label: "API key" }] });
  const account = await server.call<{ id: string }>("POST", "/accounts", { app: "ends_shop", name: "Shop of the ends", credentials: { api_key: "old" } });
  let isRefused = true;
  await page.route(/\/v1\/accounts/, async (route) => {
    if (route.request().method() === "PUT") isRefused = false;
    const answer = await route.fetch();
    const text = await answer.text();
    await route.fulfill({ response: answer, body: isRefused ? text.replaceAll('"healthy":true', '"healthy":false') : text });
  });
  await page.goto(`/accounts/${account.id}`);
  await page.getByRole("button", { name: "Reconnect…" }).click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("API key").fill("new");
  const sent = page.waitForRequest((request) => request.method() === "PUT");
  await page.keyboard.press("Enter");
  expect((await sent).postDataJSON()).toMatchObject({ credentials: { api_key: "new" } });
  await expect(page.getByText("Shop of the ends is connected")).toBeVisible();
  await expect(page.getByText("Healthy")).toBeVisible();
});

test("more contrast turns lines into edges and grey words into dark ones", async ({ page }) => {
  const ofRoot = () => page.evaluate(() => ["--line", "--line-control", "--text-3", "--text-2"].map((name) => getComputedStyle(document.documentElement).getPropertyValue(name)));
  await page.goto("/settings/domains");
  const [line, edge] = await ofRoot();
  expect(line).not.toBe(edge);
  await page.emulateMedia({ contrast: "more", reducedMotion: "reduce" });
  const [stronger, same, third, second] = await ofRoot();
  expect([stronger, third]).toEqual([same, second]);
  await expectAccessible(page);
});
