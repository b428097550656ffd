import { expect, test } from "vitest";
import { partsOf } from "./timer-times";

test("times show their year and their seconds only where these tell them apart", () => {
  const now = Date.UTC(2026, 5, 1);
  const at = (...parts: [number, number, number, number, number, number]) => Date.UTC(...parts);
  expect(partsOf([at(2026, 6, 1, 9, 0, 0)], "UTC", now)).toEqual({
    showsYear: false,
    showsSeconds: false,
  });
  expect(partsOf([at(2028, 1, 29, 9, 0, 0)], "UTC", now).showsYear).toBe(true);
  expect(partsOf([at(2026, 11, 31, 23, 30, 0)], "Asia/Tokyo", now).showsYear).toBe(true);
  expect(partsOf([at(2026, 6, 1, 9, 0, 30)], "UTC", now).showsSeconds).toBe(true);
});
