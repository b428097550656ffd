import { expect, test } from "vitest";
import { timeOf, typedOf } from "./typed-time";

test("a time is the same after it was shown in a field and read from it, in either zone", () => {
  const at = Date.UTC(2026, 10, 5, 4, 3);
  expect(typedOf(at, "utc")).toBe("2026-11-05T04:03");
  for (const zone of ["utc", "local"] as const) expect(timeOf(typedOf(at, zone), zone)).toBe(at);
  expect(typedOf(undefined, "utc")).toBe("");
  expect(timeOf("", "local")).toBeUndefined();
  expect(timeOf("25 o'clock", "utc")).toBeUndefined();
});
