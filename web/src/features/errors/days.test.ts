import { expect, test } from "vitest";
import { daysSentence, endOfDays, firstDay } from "./days";

const NOON = new Date(2026, 10, 25, 12).getTime();

test("the days end with the next midnight", () => {
  expect(new Date(endOfDays(NOON))).toEqual(new Date(2026, 10, 26));
  expect(new Date(firstDay(NOON))).toEqual(new Date(2026, 10, 12));
});

test("bars are said in a sentence, which names the days that were not counted", () => {
  expect(daysSentence([0, 2, 1])).toBe("3 errors in 3 days, 1 of them today");
  expect(daysSentence([null, null, 7])).toBe("7 errors in the last 1 of 3 days, 7 of them today");
});
