// Forms over records that others change too: only what was typed is sent, and nobody's change is taken back without a question.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { send, step, workflow } from "../fixtures/workflows.ts";

type Organization = { name: string; error_recipients: string[] };

test("'my rename was gone after her change': two tabs save different fields of the organization, and the same one is decided on", async ({ page, context, server }) => {
  const stored = () => server.call<Organization>("GET", `/orgs/${server.org}`);
  const before = await stored();
  const other = await context.newPage();
  for (const each of [page, other]) {
    await each.goto("/settings");
    await expect(each.getByLabel("Name")).toHaveValue(before.name);
  }
  await other.getByLabel("Error mail to").fill("oncall@north.example");
  await other.getByRole("button", { name: "Save", exact: true }).click();
  await expect.poll(async () => (await stored()).error_recipients).toEqual(["oncall@north.example"]);
  await page.getByLabel("Name").fill("Northgate");
  await expect(page.getByText("Not saved yet.")).toBeVisible();
  await page.getByRole("button", { name: "Save", exact: true }).click();
  await expect.poll(async () => (await stored()).name).toBe("Northgate");
  expect((await stored()).error_recipients).toEqual(["oncall@north.example"]);
  await expect(page.getByLabel("Error mail to")).toHaveValue("oncall@north.example");

  // The same field: what is typed is there again after another page, and replaces theirs only when asked to.
  await page.getByLabel("Name").fill("Northgate AB");
  await page.goto("/runs");
  await server.call("PUT", `/orgs/${server.org}`, { name: "Southgate" });
  await page.goto("/settings");
  await expect(page.getByLabel("Name")).toHaveValue("Northgate AB");
  const question = page.getByRole("alert").filter({ hasText: "changed this meanwhile" });
  await expect(question).toContainText(/Southgate\W+Northgate AB/);
  await expectAccessible(page);
  expect((await stored()).name).toBe("Southgate");
  await question.getByRole("button", { name: "Overwrite with mine" }).click();
  await expect(question).toHaveCount(0);
  await expect.poll(async () => (await stored()).name).toBe("Northgate AB");
  await expect(page.getByText("Not saved yet.")).toHaveCount(0);
  await page.getByLabel("Name").fill("Nothing");
  await page.getByRole("button", { name: "Discard" }).click();
  await expect(page.getByLabel("Name")).toHaveValue("Northgate AB");
  await server.call("PUT", `/orgs/${server.org}`, { name: before.name, error_recipients: before.error_recipients });
});

test("'my note overwrote hers': a note on an error that was written meanwhile is shown beside the typed one", async ({ page, server }) => {
  const made = await workflow(server, "Shelves", { find: step(`throw new RangeError("no such rack");`) });
  await send(server, made, {});
  const [group] = await server.call<{ id: string }[]>("GET", `/workflows/${made.id}/error_groups`);
  const stored = () => server.call<{ note: string | null }>("GET", `/error_groups/${group?.id}`);
  await page.goto(`/errors/${group?.id}`);
  await page.getByLabel("Note").fill("Look at the parser.");
  await server.call("PUT", `/error_groups/${group?.id}`, { note: "Ticket 4711, do not touch." });
  await page.getByRole("button", { name: "Save note" }).click();
  const question = page.getByRole("alert").filter({ hasText: "changed this meanwhile" });
  await expect(question).toContainText("Ticket 4711");
  await expectAccessible(page);
  expect((await stored()).note).toBe("Ticket 4711, do not touch.");
  await question.getByRole("button", { name: "Use theirs" }).click();
  await expect(page.getByLabel("Note")).toHaveValue("Ticket 4711, do not touch.");
  await expect(page.getByText("Not saved yet.")).toHaveCount(0);
});
