// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { cursorBefore, isOlder } from "~/api/events";
import { rateOf, skippedWords } from "./tail";

const at = (indexed_at_ms: number) => ({ id: `${indexed_at_ms}-0`, indexed_at_ms });

test("the rate is of the last ten seconds, or of what the list spans where it is cut", () => {
  expect(rateOf([], 100_000)).toBe(0);
  expect(rateOf([at(1_000)], 100_000)).toBe(0);
  expect(rateOf([at(99_000), at(95_000), at(20_000)], 100_000)).toBe(0.2);
  // A hundred events within a second and a half: the list does not reach back further.
  const many = Array.from({ length: 100 }, (_, n) => at(100_000 - n * 15));
  expect(rateOf(many, 100_000)).toBeCloseTo(67.3, 0);
});

test("ids of events are ordered by their time, then by their number", () => {
  expect(isOlder("9-0", "10-0")).toBe(true);
  expect(isOlder("10-2", "10-10")).toBe(true);
  expect(isOlder("10-10", "10-10")).toBe(false);
  expect(isOlder("11-0", "10-5")).toBe(false);
  expect(cursorBefore("10-2")).toBe("10-3");
});

test("what was skipped is counted, as far as the server kept it", () => {
  const said = (count: number, isAll: boolean) => skippedWords({ count, isAll })?.split(":")[0];
  expect(said(0, true)).toBeUndefined();
  expect(said(37, true)).toBe("37 skipped");
  expect(said(1_200, false)).toBe("1,200 or more skipped");
  expect(said(0, false)).toBe("some skipped");
});
