import { expect, test } from "vitest";
import { due } from "./enter-first";

test("Enter takes the first result of its own words, once they are there", () => {
  expect(due("rss", "rss", undefined)).toBeUndefined();
  expect(due("rss", "rss", ["feed", "other"])).toBe("feed");
  expect(due("rss", "rss", [])).toBeUndefined();
});

test("nothing is taken without Enter, or of words that were changed after it", () => {
  expect(due(undefined, "rss", ["feed"])).toBeUndefined();
  expect(due("rss", "rss x", ["feed"])).toBeUndefined();
});
