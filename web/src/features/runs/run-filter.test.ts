import { expect, test } from "vitest";
import { actsOn, filterOf, queryOf } from "./run-filter";

test("an address gives the filter it can have, and no other", () => {
  expect(
    filterOf({ status: "failed,lost,paused", owner: "p_1", age: "day", kind: "toString", took: 1 }),
  ).toEqual({ status: ["failed", "paused"], owner: "p_1", age: "day" });
});

test("a filter goes before its view, and times are whole minutes", () => {
  expect(queryOf("trouble", {}, "", 0)).toEqual({ status: "failed,paused" });
  expect(
    queryOf(
      "trouble",
      { status: ["queued"], age: "hour", took: "ten", error: "TypeError" },
      "lost order",
      7_261_000,
    ),
  ).toEqual({
    status: "queued",
    from: 3_660_000,
    min_ms: 10_000,
    error_class: "TypeError",
    q: "lost order",
  });
});

test("what ended is replayed, what waits is cancelled", () => {
  expect(actsOn({ status: "failed,paused", owner_id: "p_1" }, "replay")).toEqual({
    status: "failed",
    owner_id: "p_1",
  });
  expect(actsOn({ status: "failed,paused" }, "cancel")).toEqual({ status: "paused" });
  expect(actsOn({ status: "failed" }, "cancel")).toBeUndefined();
  expect(actsOn({ kind: "test" }, "replay")).toBeUndefined();
  expect(actsOn({}, "cancel")).toEqual({});
});
