// What the server is made of: for who runs it.
import { join } from "../fixtures/people.ts";
import { expect, expectAccessible, test } from "../fixtures/test.ts";

test("an owner of the first organization sees the server, and a member is told who may", async ({ page, server, browser, store }) => {
  await page.goto("/settings");
  await page.getByRole("link", { name: "System", exact: true }).click();
  const fact = (name: string) => page.locator(".fact-list > div").filter({ hasText: name });
  await expect(fact("Address")).toContainText(server.url);
  await expect(fact("Database")).toContainText(store === "sqlite" ? "SQLite" : "Postgres, used by this server alone");
  await expect(fact("State")).toContainText("events are accepted");
  await expect(fact("Free disk space")).toContainText("GB");
  await expect(fact("Size on disk")).toContainText("B");
  await expect(fact("Throughput of this organization, last hour")).toContainText(/\d runs?/);
  await page.getByRole("button", { name: "Run checks" }).click();
  const checks = page.getByRole("list", { name: "Checks" });
  await expect(checks.getByRole("listitem").filter({ hasText: "data directory" })).toContainText("a server uses it");
  await expect(checks.getByRole("listitem").filter({ hasText: "walls" }).first()).toContainText("OK");
  await expectAccessible(page);

  const member = await join(browser, server, "Mo", "member");
  await member.goto("/settings/system");
  await expect(member.getByRole("main")).toContainText("owner");
  await member.close();
});
