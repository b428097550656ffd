import { expect, test } from "vitest";
import { pinFrom } from "./pins";

test("a result that is pinned is an object of exports", () => {
  expect(pinFrom('{"$return_value": 7}')).toEqual({ pin: { $return_value: 7 } });
  expect(pinFrom("[1]")).toMatchObject({ problem: expect.stringContaining("an object") });
  expect(pinFrom("7")).toMatchObject({ problem: expect.stringContaining("an object") });
  expect(pinFrom("{a: 1}")).toMatchObject({ problem: expect.stringContaining("column 2") });
});
