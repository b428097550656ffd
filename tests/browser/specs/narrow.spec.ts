// A walk over every page on a screen of 380 px: nothing scrolls sideways but code and JSON, and no text ends unseen.
import { expect, expectAccessible, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";
import { isRefusedByPage, pagesOf, shop } from "../fixtures/shop.ts";
import type { Page } from "@playwright/test";

const WIDTH = 380;

/** What reaches over the right edge and neither scrolls nor ends in an ellipsis. */
const over = (page: Page, wide = WIDTH): Promise<string[]> =>
  page.evaluate((width) => {
    const isKept = (from: Element): boolean => {
      for (let at: Element | null = from; at !== null && at !== document.body; at = at.parentElement) {
        const { overflowX, textOverflow, position } = getComputedStyle(at);
        const { right } = at.getBoundingClientRect();
        if (right <= width + 1 && (overflowX === "auto" || overflowX === "scroll" || textOverflow === "ellipsis")) return true;
        if (position === "fixed") return false;
      }
      return false;
    };
    return [...document.querySelectorAll("body *")]
      .filter((each) => {
        const { right, width: wide, height } = each.getBoundingClientRect();
        return wide > 1 && height > 1 && right > width + 1 && each.checkVisibility({ visibilityProperty: true }) && !isKept(each);
      })
      .map((each) => `${each.tagName.toLowerCase()}.${each.getAttribute("class") ?? ""} ${(each.textContent ?? "").slice(0, 40)}`)
      .slice(0, 8);
  }, wide);

/** Lists and forms that scroll sideways: only code, JSON and rows of tabs may. */
const sideways = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll(".scroll")]
      .filter((each) => each.scrollWidth > each.clientWidth + 1 && each.querySelector(".cm-editor, .code, [role=tree]") === null)
      .map((each) => `${each.getAttribute("class") ?? ""}, ${each.scrollWidth} px in ${each.clientWidth}`),
  );

test("every page fits 380 px, with names of 80 characters and more", async ({ page, server, messages }) => {
  test.setTimeout(180_000);
  const made = await shop(server, true);
  await page.setViewportSize({ width: WIDTH, height: 800 });
  const wrong: string[] = [];
  for (const [name, path] of pagesOf(made)) {
    await page.goto(path);
    await expect(page.locator("#main :is(h1, h2, p), .crash").filter({ visible: true }).first()).toBeVisible();
    await expect(page.locator(".skeleton")).toHaveCount(0);
    // A form that is still being laid out may be wide for a frame.
    const wide = () => page.evaluate(() => document.documentElement.scrollWidth);
    await expect.poll(wide, { message: `the width of ${name}` }).toBeLessThanOrEqual(WIDTH);
    await expect.poll(() => sideways(page), { message: `what scrolls sideways in ${name}` }).toEqual([]);
    wrong.push(...(await over(page)).map((each) => `${name}: ${each}`));
    expect(messages.splice(0).filter((each) => !isRefusedByPage(name, each)), `messages on the console in ${name}`).toEqual([]);
  }
  expect(wrong).toEqual([]);
});

test("a chosen step takes the place of thirty cards, by touch, address and keyboard, and gives it back", async ({ page, server }) => {
  const names = Array.from({ length: 30 }, (_, at) => `step_${at + 1}`);
  const made = await workflow(server, "Thirty", Object.fromEntries(names.map((name) => [name, step("return 1;")])));
  await page.setViewportSize({ width: WIDTH, height: 760 });
  const card = (name: string) => page.locator(".cards").getByRole("button", { name: `${name} code` });
  const panel = (name: string) => page.getByRole("region", { name: `Step ${name}` });
  const back = page.getByRole("button", { name: "Back to all steps" });
  await page.goto(`/workflows/${made.id}/edit?step=step_20`);
  await expect(panel("step_20").getByRole("heading", { name: "step_20" })).toBeInViewport();

  await back.click();
  await expect(card("step_20")).toBeFocused();
  await expect(card("step_20")).toBeInViewport();
  await card("step_25").click();
  await expect(panel("step_25").getByRole("heading", { name: "step_25" })).toBeInViewport();
  await expect(panel("step_25")).toBeFocused();

  await page.keyboard.press("Tab");
  await expect(back).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(card("step_25")).toBeFocused();
  await page.keyboard.press("Enter");
  await expect(panel("step_25")).toBeFocused();

  await page.setViewportSize({ width: 1440, height: 900 });
  await expect(card("step_25")).toBeVisible();
  await expect(back).toBeHidden();
});

/** Text whose lines are cut off by the height of their box, without an ellipsis. */
const cutBelow = (page: Page): Promise<string[]> =>
  page.evaluate(() =>
    [...document.querySelectorAll("#main *, [role=dialog] *")]
      .filter((each) => {
        const { overflowY, textOverflow, webkitLineClamp } = getComputedStyle(each);
        const hides = overflowY === "hidden" || overflowY === "clip";
        const hasText = [...each.childNodes].some((node) => node.nodeType === Node.TEXT_NODE && node.textContent?.trim());
        // A pixel or two is the descent of a line that is set tight.
        return hides && hasText && textOverflow !== "ellipsis" && webkitLineClamp === "none" && each.clientHeight > 1 && each.scrollHeight > each.clientHeight + 2;
      })
      .map((each) => `${each.tagName.toLowerCase()}.${each.getAttribute("class") ?? ""} ${(each.textContent ?? "").slice(0, 40)}`),
  );

test("at 200 % nothing of the main pages is cut, and none scrolls sideways", async ({ browser, server }) => {
  const made = await shop(server);
  // The browser's zoom: half as many pixels of CSS, each twice as large. What a tablet of 1,024 px shows is the least.
  const [width, height] = [512, 384];
  const context = await browser.newContext({ baseURL: server.url, viewport: { width, height }, deviceScaleFactor: 2, reducedMotion: "reduce", extraHTTPHeaders: { authorization: `Bearer ${server.key}` } });
  const page = await context.newPage();
  const main = ["/", "/runs", `/runs/${made.failed}`, "/errors", `/errors/${made.group}`, "/workflows", `/workflows/${made.failing}/edit`, "/sources", `/sources/${made.source}`, `/sources/${made.source}/configure`, "/settings/keys"];
  const wrong: string[] = [];
  const look = async (name: string): Promise<void> => {
    await expect.poll(() => page.evaluate(() => document.documentElement.scrollWidth), { message: `the width of ${name}` }).toBeLessThanOrEqual(width);
    await expect.poll(() => sideways(page), { message: `what scrolls sideways in ${name}` }).toEqual([]);
    wrong.push(...[...(await over(page, width)), ...(await cutBelow(page))].map((each) => `${name}: ${each}`));
    if (process.env["SHOTS"] !== undefined) await page.screenshot({ path: `${process.env["SHOTS"]}/zoom${name.replaceAll("/", "_")}.png` });
  };
  for (const path of main) {
    await page.goto(path);
    await expect(page.locator("#main :is(h1, h2, p)").filter({ visible: true }).first()).toBeVisible();
    await expect(page.locator(".skeleton")).toHaveCount(0);
    await look(path);
  }
  // A dialog that is higher than the window scrolls, down to its acts.
  await page.goto(`/runs/${made.failed}#replay`);
  const dialog = page.getByRole("dialog");
  await dialog.getByRole("button", { name: /^Replay/ }).scrollIntoViewIfNeeded();
  await expect(dialog.getByRole("button", { name: /^Replay/ })).toBeInViewport({ ratio: 1 });
  await look("replay dialog");
  await context.close();
  expect(wrong).toEqual([]);
});

test("runs are selected by touch at 380 px, and replayed or left again", async ({ browser, server }) => {
  await shop(server);
  const context = await browser.newContext({ baseURL: server.url, viewport: { width: WIDTH, height: 800 }, hasTouch: true, reducedMotion: "reduce", extraHTTPHeaders: { authorization: `Bearer ${server.key}` } });
  const page = await context.newPage();
  await page.goto("/runs");
  const table = page.getByRole("table", { name: "Runs" });
  const rows = table.getByRole("row").filter({ has: page.getByRole("link") });
  await expect(rows.first()).toBeVisible();
  await expect(table.getByRole("checkbox")).toHaveCount(0);
  const select = page.getByRole("button", { name: "Select", exact: true });
  await select.tap();
  // The row is the target, not its box alone.
  await rows.nth(0).tap();
  await rows.nth(1).tap();
  const bar = page.getByRole("region", { name: "Selection" });
  await expect(bar).toContainText("2 selected");
  await expect(bar.getByRole("link", { name: "Compare" })).toBeInViewport();
  await expect(page).toHaveURL(/\/runs$/);
  await expectAccessible(page);
  if (process.env["SHOTS"] !== undefined) await page.screenshot({ path: `${process.env["SHOTS"]}/select-380.png` });
  await rows.nth(1).tap();
  await expect(bar).toContainText("1 selected");
  await page.getByRole("button", { name: "Done", exact: true }).tap();
  await expect(bar).toHaveCount(0);
  await expect(table.getByRole("checkbox")).toHaveCount(0);
  await rows.nth(0).tap();
  await expect(page).toHaveURL(/\/runs\/run_/);
  await context.close();
});
