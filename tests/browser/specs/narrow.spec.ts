// A walk over every page on a screen of 380 px: nothing scrolls sideways but code and JSON, and no text ends unseen.
import { expect, test } from "../fixtures/test.ts";
import { step, workflow } from "../fixtures/workflows.ts";
import { isRefusedByPage, pagesOf, shop } from "../fixtures/shop.ts";
import type { Page } from "@playwright/test";

const WIDTH = 380;

/** What reaches over the right edge and neither scrolls nor ends in an ellipsis. */
const over = (page: Page): Promise<string[]> =>
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
  }, WIDTH);

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
