import { expect, test } from "vitest";
import { freshCount } from "./fresh";

test("rows above the one that was the first are new", () => {
  expect(freshCount(["c", "b", "a"], "a")).toBe(2);
  expect(freshCount(["a"], "a")).toBe(0);
});

test("where the first is gone, as after another filter, nothing waits", () => {
  expect(freshCount(["c", "b"], "a")).toBe(0);
  expect(freshCount([], "a")).toBe(0);
  expect(freshCount(["a"], undefined)).toBe(0);
});
