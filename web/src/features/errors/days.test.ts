import { expect, test } from "vitest";
import { DAYS, firstDay, perDay } from "./days";

test("what happened is counted on its day, and not before the first", () => {
  const now = new Date(2026, 10, 27, 12).getTime();
  const at = (day: number, hour: number) => new Date(2026, 10, day, hour).getTime();
  expect(firstDay(now)).toBe(at(14, 0));
  const counts = perDay([at(27, 11), at(27, 1), at(26, 23), at(14, 0), at(13, 23)], now);
  expect(counts).toHaveLength(DAYS);
  expect([counts[0], counts[12], counts[13]]).toEqual([1, 1, 2]);
  expect(counts.reduce((sum, each) => sum + each)).toBe(4);
});
