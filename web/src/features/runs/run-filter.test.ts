import { expect, test } from "vitest";
import { actsOn, filterOf, listOfSearch, queryOf, searchOf } from "./run-filter";

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

test("times of an address are filters, as numbers and as dates, and go before an age", () => {
  const [from, to] = [Date.UTC(2026, 10, 25, 9), Date.UTC(2026, 10, 25, 10, 30)];
  for (const given of [
    { from, to, age: "day" },
    { from: String(from), to: String(to) },
    { from: "2026-11-25T09:00:00Z", to: "2026-11-25T11:30:00+01:00" },
  ]) {
    const filter = filterOf(given);
    expect(filter).toEqual({ between: { from, to } });
    expect(queryOf("all", filter, "", 0)).toEqual({ from, to });
  }
  expect(filterOf({ from: "yesterday", to })).toEqual({ between: { to } });
  expect(filterOf({ from: -1, to: 1.5 })).toEqual({});
  // Beyond the last date that there is, which no address can be made of.
  expect(filterOf({ from: 9e15 })).toEqual({});
});

test("the address of a list gives the list again", () => {
  const list = {
    view: "trouble" as const,
    q: "lost order",
    filter: {
      status: ["failed", "paused"] as const,
      between: { from: Date.UTC(2026, 10, 25) },
      error: "TypeError",
    },
  };
  const search = searchOf(list);
  expect(search.from).toBe("2026-11-25T00:00:00.000Z");
  expect(listOfSearch(search)).toEqual(list);
  expect(searchOf(listOfSearch({ view: "nothing", q: 7 }))).toEqual({ q: "7" });
});
