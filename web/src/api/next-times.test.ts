import { expect, test } from "vitest";
import { askAgainMs, nextOf } from "./next-times";

const now = 1_000_000_000;

test("times are asked for anew once the next one has passed, within half a minute and five", () => {
  expect(askAgainMs([now + 90_000, now + 180_000], now)).toBe(90_000);
  expect(askAgainMs([now + 1_000], now)).toBe(30_000);
  expect(askAgainMs([now + 86_400_000], now)).toBe(300_000);
  expect(askAgainMs([], now)).toBe(30_000);
  expect(askAgainMs(undefined, now)).toBe(30_000);
});

test("the next time is the first that has not passed", () => {
  expect(nextOf([now - 10_000, now + 10_000, now + 20_000], now)).toBe(now + 10_000);
  expect(nextOf([now - 20_000, now - 10_000], now)).toBe(now - 10_000);
  expect(nextOf([], now)).toBeUndefined();
  expect(nextOf(undefined, now)).toBeUndefined();
});
