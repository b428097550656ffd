// A walk over every page that is opened anew: nothing that is shown moves when more arrives.
import type { Page } from "@playwright/test";
import { expect, test } from "../fixtures/test.ts";
import { isRefusedByPage, pagesOf, shop } from "../fixtures/shop.ts";

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

type Held = { answers: (() => Promise<void>)[] };

/**
 * Holds the answers of the server. They are held within the page: a browser whose requests are routed has no cache, and would
 * compile the scripts anew for each page.
 */
const holdAnswers = (page: Page) =>
  page.addInitScript(() => {
    const answers: Held["answers"] = [];
    Object.assign(window, { answers });
    const ask = window.fetch.bind(window);
    window.fetch = (input, init) => {
      const request = new Request(input, init);
      if (!new URL(request.url).pathname.startsWith("/v1/")) return ask(request);
      return new Promise((resolve, reject) => answers.push(() => ask(request).then(resolve, reject)));
    };
  });

/** Lets each answer through when the page has drawn what came before it: the last asked for comes first. */
const oneByOne = (page: Page) =>
  page.evaluate(async () => {
    const { answers } = window as unknown as Held;
    const drawn = () => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
    // What an answer makes the page ask for is asked for in the frames after it.
    for (let still = 0; still < 5 || document.querySelector(".skeleton") !== null; ) {
      const answer = answers.pop();
      still = answer === undefined ? still + 1 : 0;
      await answer?.();
      await drawn();
    }
  });

for (const width of [1440, 380]) {
  test(`no page of ${width} px moves what it shows, in whichever order its parts arrive`, async ({ page, server, messages }) => {
    test.setTimeout(300_000);
    const made = await shop(server);
    await page.setViewportSize({ width, height: 900 });
    await watchShifts(page);
    await holdAnswers(page);
    const wrong: string[] = [];
    for (const [name, path] of pagesOf(made)) {
      await page.goto(path);
      await oneByOne(page);
      const shifts = await page.evaluate(() => (window as unknown as { shifts: Shift[] }).shifts);
      const sum = shifts.reduce((all, { value }) => all + value, 0);
      if (process.env["NUMBERS"] !== undefined) console.log(`layout shift of ${name}, ${width} px: ${sum.toFixed(3)}`, shifts);
      expect(messages.splice(0).filter((each) => !isRefusedByPage(name, each)), `messages on the console in ${name}`).toEqual([]);
      if (sum > SHIFT_MAX) wrong.push(`${name}: ${sum.toFixed(3)}`, ...shifts.flatMap(({ value, moved }) => moved.map((each) => `  ${value.toFixed(3)} ${each}`)));
    }
    expect(wrong).toEqual([]);
  });
}
