// A viewer's walk over every page: all can be read, and nothing is offered that the server would refuse.
import { expect, test } from "../fixtures/test.ts";
import { join } from "../fixtures/people.ts";
import { pagesOf, shop } from "../fixtures/shop.ts";

/** Words that an act begins with which changes something; `test, 2 steps` is the name of a run. */
const changes =
  /^(new|make|add|save|deploy|delete|remove|rename|invite|connect|publish|replay|retry|cancel|resume|run now|test(?!, \d+ step)|roll back|discard|upload|revoke|rotate|resolve|ignore|reopen|edit|acts on)\b/i;

/** Fields that choose what is shown. */
const reads = /search|filter|words|^step$|^who$|^data shown$|^registry$/i;

test("a viewer reads every page, and is offered nothing that is refused", async ({ browser, server }) => {
  test.setTimeout(180_000);
  const made = await shop(server);
  const page = await join(browser, server, "Jo Viewer", "viewer");
  const wrong: string[] = [];
  let at = "";
  page.on("response", (response) => {
    if (response.status() >= 400) wrong.push(`${at}: ${response.request().method()} ${new URL(response.url()).pathname} answered ${response.status()}`);
  });
  for (const [name, path] of pagesOf(made)) {
    if (name === "gone" || name === "not-there") continue;
    at = name;
    await page.goto(path);
    await expect(page.locator("#main :is(h1, h2, p)").filter({ visible: true }).first()).toBeVisible();
    await expect(page.locator(".skeleton")).toHaveCount(0);
    if ((await page.locator(".crash").count()) > 0) wrong.push(`${name}: ${await page.locator(".crash").innerText()}`);
    const offered = await page.locator("#main").evaluate((main) => {
      // Tabs are ways to what can be read, and so are the names of what a webhook listens to.
      const acts = [...main.querySelectorAll("button:enabled, a[href]")].filter((each) => each.getAttribute("aria-disabled") !== "true" && each.closest("nav, table, .listens-to") === null);
      const fields = [...main.querySelectorAll(":is(input, textarea):enabled:not([type=search], [type=checkbox], [readonly])")];
      const nameOf = (each: Element): string => (each.getAttribute("aria-label") ?? each.textContent ?? "").trim();
      // The input behind a list of choices has no name: its button does.
      const chosenBy = (each: Element): string => each.parentElement?.querySelector("[role=combobox]")?.getAttribute("aria-label") ?? "";
      const seen = (all: Element[]): Element[] => all.filter((each) => each.checkVisibility());
      return { acts: seen(acts).map(nameOf), fields: seen(fields).map((each) => (each as HTMLInputElement).labels?.[0]?.textContent ?? (nameOf(each) || chosenBy(each))) };
    });
    wrong.push(...offered.acts.filter((each) => changes.test(each)).map((each) => `${name} offers “${each}”`));
    wrong.push(...offered.fields.filter((each) => !reads.test(each)).map((each) => `${name} lets “${each}” be filled in`));
  }
  expect(wrong).toEqual([]);
  await page.context().close();
});
