// A person of two organizations: one at a time, in every tab, with the role of each.
import { expect, type Page, test } from "@playwright/test";
import { stranger } from "../fixtures/people.ts";
import { startServer } from "../fixtures/server.ts";
import { expectAccessible } from "../fixtures/test.ts";

type Named = { id: string };

const source = (name: string) => ({
  name,
  component_code: `export default { name: "${name}", version: "1", props: { http: "$.interface.http" }, run({ body }) { this.$emit(body); } };`,
});

test("a person of two organizations sees one of them at a time, in every tab", async ({ browser }) => {
  const server = await startServer();
  const context = await stranger(browser, server);
  const page = await context.newPage();
  await page.goto(server.setupUrl());
  await page.getByLabel("Your name").fill("Mara Lindqvist");
  await page.getByLabel("E-mail").fill("mara@northgate.example");
  await page.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await page.keyboard.press("Enter");
  await expect(page.getByRole("heading", { name: "Home" })).toBeVisible();
  await server.call("PUT", `/orgs/${server.org}`, { name: "Northgate" });
  const north = await server.call<Named>("POST", "/sources", source("Orders of the north"));

  const other = await server.call<{ id: string; api_key: string }>("POST", "/workspaces", { name: "Southgate", email: "sven@southgate.example" });
  const there = async <T>(path: string, body: unknown): Promise<T> => {
    const headers = { authorization: `Bearer ${other.api_key}`, "content-type": "application/json" };
    const answer = await fetch(`${server.url}/v1${path}`, { method: "POST", headers, body: JSON.stringify(body) });
    return ((await answer.json()) as { data: T }).data;
  };
  const south = await there<Named>("/sources", source("Orders of the south"));
  const invited = await there<{ url: string }>("/invitations", { email: "mara@northgate.example", role: "viewer" });

  // The invitation is taken with the password that she has; the other tab follows.
  const second = await context.newPage();
  await page.goto("/sources");
  await expect(page.getByRole("link", { name: "Orders of the north" })).toBeVisible();
  await second.goto(invited.url);
  await second.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await second.keyboard.press("Enter");
  const isAt = async (tab: Page, name: string) => expect(tab.getByRole("button", { name: `Organization: ${name}. Switch` })).toBeVisible();
  await isAt(second, "Southgate");
  await isAt(page, "Southgate");
  const go = (tab: Page, name: string) => tab.getByRole("navigation", { name: "Main", exact: true }).getByRole("link", { name }).click();
  await go(page, "Sources");
  await expect(page.getByRole("link", { name: "Orders of the south" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Orders of the north" })).toHaveCount(0);
  await expect(page.getByRole("button", { name: "New source" })).toHaveAttribute("aria-disabled", "true");

  // A link into the one she is not in offers to switch, and leads there then.
  await page.goto(`/sources/${north.id}`);
  await expectAccessible(page);
  await page.getByRole("button", { name: "Switch to Northgate" }).click();
  await expect(page.getByRole("heading", { name: "Orders of the north" })).toBeVisible();
  await isAt(page, "Northgate");
  await isAt(second, "Northgate");
  await page.goto(`/runs/run_3MPlbwmoIbRQQTJuWs6qvEHMdKv`);
  await page.getByRole("button", { name: "Switch to Southgate" }).click();
  await isAt(page, "Southgate");
  await expect(page.getByRole("button", { name: "Switch to Northgate" })).toBeVisible();

  // What belongs to the one she is not in is not there; the ways to other pages are.
  await page.goto(`/sources/${north.id}`);
  await expect(page.locator(".crash")).toContainText(north.id);
  await page.getByRole("button", { name: "Organization: Southgate. Switch" }).click();
  await page.getByRole("menuitem", { name: "Northgate" }).click();
  await isAt(page, "Northgate");
  await isAt(second, "Northgate");
  await go(second, "Sources");
  await expect(second.getByRole("link", { name: "Orders of the north" })).toBeVisible();
  await expect(second.getByRole("link", { name: "New source" }).first()).toBeVisible();
  await page.goto(`/sources/${south.id}`);
  await expect(page.locator(".crash")).toContainText(south.id);

  // A deep link into the other one switches and says so; one of an organization that is not hers shows nothing.
  await page.goto(`/sources?org=${other.id}`);
  await expect(page.getByText("Switched to Southgate").first()).toBeVisible();
  await expect(page.getByRole("link", { name: "Orders of the south" })).toBeVisible();
  await page.goto("/workflows/p_other?org=o_other");
  await expect(page.getByRole("heading", { name: "Not found" })).toBeVisible();
  await expect(page.getByRole("link", { name: "Orders of the south" })).toHaveCount(0);
  await page.goto(`/sources?org=${server.org}`);
  await isAt(page, "Northgate");
  await isAt(second, "Northgate");

  // A tab that signs in again as the same person disturbs no other.
  await page.goto(`/sources/${north.id}/configure`);
  await page.getByLabel("Name").fill("Orders, all of them");
  await context.clearCookies();
  await second.goto("/login");
  await second.getByLabel("E-mail").fill("mara@northgate.example");
  await second.getByLabel("Password", { exact: true }).fill("a wheel in the race");
  await second.getByRole("button", { name: "Sign in" }).click();
  await isAt(second, "Northgate");
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect(page.getByRole("heading", { name: "Orders, all of them" })).toBeVisible();
  await context.close();
  await server.stop();
});
