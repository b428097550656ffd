// Versions of a source: what changes before it is saved, who made them and why, any two compared, and back to one.
import { expect, expectAccessible, test } from "../fixtures/test.ts";

const code = (rows: number) => `export default {
  name: "Shelves", version: "0.1.0",
  props: { http: "$.interface.http", shelf: { type: "string", label: "Shelf" }, key: { type: "string", label: "Key", secret: true, optional: true } },
  run() { this.$emit({ rows: ${rows} }); },
};
`;

type Source = { id: string; configured_props: { shelf: string }; sealed_props: string[] };

test("a change of a source shows its difference first, makes a version with a message, and is compared and taken back", async ({ page, server }) => {
  const made = await server.call<Source>("POST", "/sources", { component_code: code(1), name: "Shelves", configured_props: { shelf: "A1" }, message: "The first shelf" });
  const run = await server.call<{ id: string }>("POST", `/sources/${made.id}/run`, { event: {} });
  await page.goto(`/sources/${made.id}/configure`);
  await page.getByLabel("Shelf").fill("B2");
  await page.getByLabel("Key", { exact: true }).fill("hush hush");
  const changes = page.getByRole("region", { name: "Changes" });
  await expect(changes.getByRole("listitem").filter({ hasText: "shelf" })).toContainText(/A1\W+B2/);
  await expect(changes.getByRole("listitem").filter({ hasText: "key" })).toContainText("a new secret");
  await expect(changes).not.toContainText("hush");
  await expectAccessible(page);
  await changes.getByLabel("Message").fill("Moved to the other shelf");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(changes).toHaveCount(0);
  await server.call("PUT", `/sources/${made.id}`, { component_code: code(2), message: "Two rows" });

  await page.getByRole("link", { name: "Versions" }).click();
  const rows = page.getByRole("table", { name: "Versions" }).getByRole("row");
  await expect(rows).toHaveText([/^Version/, /v3live.*Two rows/, /v2.*Moved to the other shelf/, /v1.*The first shelf/]);
  await expect(rows.nth(1)).toContainText("none");
  await expect(rows.nth(3).getByRole("cell", { name: "1", exact: true })).toBeVisible();
  await expectAccessible(page);

  await page.getByRole("button", { name: "Compare v1 with another" }).click();
  const compared = page.getByRole("dialog", { name: "v1 against v3" });
  await expect(compared.getByRole("list", { name: "Changed values" })).toContainText(/shelf\W*A1\W+B2/);
  await expect(compared.getByRole("list", { name: "Changed values" })).toContainText(/key\W*not set\W+secret/);
  await expect(compared.getByRole("figure", { name: "Code changes" })).toContainText("rows: 2");
  await compared.getByRole("combobox", { name: "After" }).click();
  await page.getByRole("option", { name: "v2" }).click();
  await expect(page.getByRole("dialog", { name: "v1 against v2" }).getByRole("figure", { name: "Code changes" })).toHaveCount(0);
  await expectAccessible(page);
  await page.keyboard.press("Escape");

  await page.getByRole("button", { name: "Roll back to v1…" }).click();
  const back = page.getByRole("dialog", { name: "Roll back to v1?" });
  await expect(back.getByRole("list", { name: "Changed values" })).toContainText(/shelf\W*B2\W+A1/);
  await expect(back.getByRole("figure", { name: "Code changes" })).toContainText("rows: 1");
  await back.getByRole("button", { name: "Roll back to v1", exact: true }).click();
  await expect(rows.nth(1)).toHaveText(/v4live.*Back to version 1/);
  const now = await server.call<Source>("GET", `/sources/${made.id}`);
  expect([now.configured_props.shelf, now.sealed_props]).toEqual(["A1", []]);
  await page.getByRole("link", { name: "Configure" }).click();
  await expect(page.getByLabel("Shelf")).toHaveValue("A1");

  // A run of the first version says so, and is replayed with it.
  await page.goto(`/runs/${run.id}`);
  await expect(page.getByText("v1", { exact: true })).toBeVisible();
  await page.getByRole("button", { name: "Replay…" }).click();
  const replay = page.getByRole("dialog", { name: /^Replay/ });
  await expect(replay.getByRole("radio", { name: /Live v4/ })).toBeChecked();
  await replay.getByRole("radio", { name: /Original v1/ }).click();
  await expectAccessible(page);
  await replay.getByRole("button", { name: /^Replay from the trigger with v1/ }).click();
  await expect(page).not.toHaveURL(new RegExp(run.id));
  await expect(page.getByText("v1", { exact: true })).toBeVisible();
});

test("any two versions of a workflow are compared: props, settings and code", async ({ page, server }) => {
  const step = (text: string) => ({ namespace: "greet", code: `export default defineComponent({ props: { whom: { type: "string" } }, async run() { return "${text} " + this.whom; } });` });
  const made = await server.call<{ id: string }>("POST", "/workflows", { name: "Polite words", triggers: [{ type: "http" }], steps: [{ ...step("Hello"), props: { whom: "Ada" } }] });
  const deploy = async (change: object, message: string) => {
    await server.call("PUT", `/workflows/${made.id}`, change);
    await server.call("POST", `/workflows/${made.id}/deploy`, { message });
  };
  await deploy({ steps: [{ ...step("Hello"), props: { whom: "Noor" } }] }, "To Noor");
  await deploy({ steps: [{ ...step("Good day"), props: { whom: "Noor" } }], settings: { timeout_ms: 5_000 } }, "Politer");
  await page.goto(`/workflows/${made.id}/versions`);
  await page.getByRole("button", { name: "Compare v1 with another" }).click();
  const dialog = page.getByRole("dialog", { name: "v1 against v3" });
  await expect(dialog.getByRole("list", { name: "Changes", exact: true })).toContainText("greet: code changed, value of whom changed");
  await expect(dialog.getByRole("list", { name: "Changed values of greet" })).toContainText(/whom\W*Ada\W+Noor/);
  await expect(dialog.getByRole("list", { name: "Changed values of Settings" })).toContainText(/timeout_ms\W*not set\W+5000/);
  await expect(dialog.getByRole("figure", { name: "Changes in greet" })).toContainText("Good day");
  await expectAccessible(page);
});
