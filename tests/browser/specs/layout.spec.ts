// A walk over every page that is opened anew: nothing that is shown moves when more arrives.
import type { Page, Route } from "@playwright/test";
import { expect, test } from "../fixtures/test.ts";
import { pagesOf, shop } from "../fixtures/shop.ts";

/** Layout shift of a page, as Chromium counts it: the bound of the specification. */
const SHIFT_MAX = 0.02;

type Shift = { value: number; moved: string[] };

/** Records what moves from now on in every page that is opened. */
const watchShifts = (page: Page) =>
  page.addInitScript(() => {
    const shifts: Shift[] = [];
    Object.assign(window, { shifts });
    type Entry = PerformanceEntry & { value: number; sources: { node: Node | null; previousRect: DOMRect; currentRect: DOMRect }[] };
    const nameOf = (node: Node | null): string => {
      const at = node instanceof Element ? node : node?.parentElement;
      return at === null || at === undefined ? "gone" : `${at.tagName.toLowerCase()}.${at.getAttribute("class") ?? ""} “${(at.textContent ?? "").slice(0, 30)}”`;
    };
    const at = ({ x, y }: DOMRect): string => `${Math.round(x)},${Math.round(y)}`;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries() as Entry[]) {
        shifts.push({ value: entry.value, moved: entry.sources.map((each) => `${nameOf(each.node)} ${at(each.previousRect)} to ${at(each.currentRect)}`) });
      }
    }).observe({ type: "layout-shift", buffered: true });
  });

/** The answers of the server, each let through when the page has drawn what came before it: the last asked for comes first. */
async function oneByOne(page: Page): Promise<{ open: (path: string) => Promise<void> }> {
  const held: Route[] = [];
  await page.route(/\/v1\/(?!stream)/, (route) => void held.push(route));
  const drawn = () => page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
  return {
    open: async (path) => {
      await page.goto(path);
      // What an answer makes the page ask for is asked for in the frames after it.
      for (let still = 0; still < 5 || (await page.locator(".skeleton").count()) > 0; ) {
        const route = held.pop();
        still = route === undefined ? still + 1 : 0;
        if (route !== undefined) await route.fulfill({ response: await route.fetch() }).catch(() => undefined);
        await drawn();
      }
    },
  };
}

for (const width of [1440, 380]) {
  test(`no page of ${width} px moves what it shows, in whichever order its parts arrive`, async ({ page, server, messages }) => {
    test.setTimeout(300_000);
    const made = await shop(server);
    await page.setViewportSize({ width, height: 900 });
    await watchShifts(page);
    const { open } = await oneByOne(page);
    const wrong: string[] = [];
    for (const [name, path] of pagesOf(made)) {
      await open(path);
      const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts);
      const sum = shifts.reduce((all, { value }) => all + value, 0);
      if (process.env["NUMBERS"] !== undefined) console.log(`layout shift of ${name}, ${width} px: ${sum.toFixed(3)}`, shifts);
      if (sum > SHIFT_MAX) wrong.push(`${name}: ${sum.toFixed(3)}`, ...shifts.flatMap(({ value, moved }) => moved.map((each) => `  ${value.toFixed(3)} ${each}`)));
    }
    // A browser that keys sign in has no sessions, which the API refuses.
    messages.splice(0);
    expect(wrong).toEqual([]);
  });
}
