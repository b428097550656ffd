// Reads that take long, and reads that fail: the page says so at its place, and reads again when it is asked to.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

/** Holds what the page asks for until it is let go. */
function held(): { wait: () => Promise<void>; letGo: () => void } {
  let letGo = (): void => {};
  const gone = new Promise<void>((resolve) => (letGo = resolve));
  return { wait: () => gone, letGo: () => letGo() };
}

test("the state of the server and a value of a data store show that they are read", async ({ page, server }) => {
  const store = await server.call<{ id: string }>("POST", "/data_stores", { name: "Slow" });
  await server.call("PUT", `/data_stores/${store.id}/record`, { key: "cursor", value: { at: 7 } });
  const { wait, letGo } = held();
  for (const slow of ["**/v1/system", "**/record?*"]) {
    await page.route(slow, async (route) => {
      await wait();
      await route.continue();
    });
  }
  await page.goto(`/data/${store.id}`);
  await page.getByRole("button", { name: "cursor" }).click();
  const value = page.getByRole("region", { name: "Value" });
  await expect(value.getByRole("status")).toHaveText("Loading");
  await page.goto("/settings/system");
  await expect(page.getByRole("main").getByRole("status")).toHaveText("Loading");
  letGo();
  await expect(page.locator(".fact-list").first()).toContainText(server.url);
  await page.goto(`/data/${store.id}`);
  await page.getByRole("button", { name: "cursor" }).click();
  await expect(value).toContainText("7");
});

test("a replay says that the versions could not be loaded, and reads them again", async ({ page, server, messages }) => {
  const made = await workflow(server, "Unread", { only: step("return 1;") });
  const run = await send(server, made, {});
  const failing = new RegExp(`/v1/workflows/${made.id}(/deployments/|\\?include=deployment_id)`);
  await page.route(failing, (route) => route.fulfill({ status: 503, json: { error: "the database does not respond", code: "unavailable" } }));
  await page.goto(`/runs/${run}#replay`);
  const dialog = page.getByRole("dialog");
  await expect(dialog.getByRole("alert")).toContainText("The versions could not be loaded");
  await expect(dialog.getByText("Loading the versions…")).toHaveCount(0);
  await expectAccessible(page);
  await page.unroute(failing);
  await dialog.getByRole("button", { name: "Retry" }).click();
  await expect(dialog.getByRole("radio", { name: /^Live v1/ })).toBeChecked();
  await expect(dialog.getByRole("alert")).toHaveCount(0);
  messages.splice(0);
});
