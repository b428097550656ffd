/** Registries: the last update, what it could not index, components of one; and Enter in a search before its answer. */

import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";

const ACTION = `export default { key: "acme-do-thing", name: "Do Thing", version: "1.0.0", type: "action", run() {} };`;

/** An archive of a tree with one action, and one file that is no component. */
function archive(): Buffer {
  const root = mkdtempSync(join(tmpdir(), "registry-"));
  for (const [path, text] of [["do-thing", ACTION], ["broken", "export default {"]] as const) {
    const file = join(root, `components/acme/actions/${path}/${path}.mjs`);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, text);
  }
  return execFileSync("tar", ["-cz", "-C", root, "components"]);
}

test("a registry says what its last update could not index, is updated with an archive, and its components are filtered", async ({ page, server }) => {
  const headers = { authorization: `Bearer ${server.key}`, "content-type": "application/gzip" };
  const put = (method: string, path: string, body: Buffer) => fetch(`${server.url}/v1/registries${path}`, { method, headers, body: new Uint8Array(body) });
  expect((await put("POST", "?name=ours&revision=0a1b2c3d", archive())).status).toBe(200);
  expect((await put("PUT", "/ours", Buffer.from("no archive"))).status).toBe(422);

  await page.goto("/registries");
  await expect(page.getByText("Update failed")).toBeVisible();
  await page.getByRole("button", { name: "1 file of ours not indexed" }).click();
  await expect(page.getByRole("list", { name: "Files that are not indexed" })).toContainText("components/acme/actions/broken/broken.mjs");
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Update ours" }).click();
  const chosen = page.waitForEvent("filechooser");
  await page.getByRole("button", { name: "Upload an archive" }).click();
  await (await chosen).setFiles({ name: "tree.tar.gz", mimeType: "application/gzip", buffer: archive() });
  await expect(page.getByText("ours was updated")).toBeVisible();
  await expect(page.getByText("Update failed")).toHaveCount(0);

  await page.goto("/components");
  await page.getByRole("combobox", { name: "Registry" }).click();
  await page.getByRole("option", { name: "ours" }).click();
  await expect(page).toHaveURL(/registry=ours/);
  await page.getByRole("link", { name: "Do Thing" }).click();
  await expect(page.getByRole("complementary", { name: "About" }).getByRole("link", { name: "ours" })).toBeVisible();
});

test("Enter in the search for a step takes the first result once the server has answered", async ({ page, server }) => {
  await server.call("POST", "/components", { component_code: ACTION.replace("acme-do-thing", "late-thing"), publish: true });
  const made = await workflow(server, "Late", { one: step("return 1;") });
  await page.route("**/v1/components/search*", async (route) => {
    await new Promise((done) => setTimeout(done, 1_000));
    await route.continue();
  });
  await page.goto(`/workflows/${made.id}/edit`);
  await page.getByRole("button", { name: /add a step/i }).first().click();
  await page.getByLabel(/Search actions/).fill("late");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("dialog")).toHaveCount(0);
  await expect(page.getByText("late_thing").first()).toBeVisible();
});
