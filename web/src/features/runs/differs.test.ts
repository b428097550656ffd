import { expect, it } from "vitest";
import { differencesOf } from "./differs";

it("names first what is gone and what came, then what changed, and leaves out what always differs", () => {
  const before = {
    order: { shipping_details: { a: 1 }, id: "o1" },
    api_version: "2024",
    created: 1,
  };
  const after = { order: { collected: { b: 1 }, id: "o2" }, api_version: "2025", created: 2 };
  expect(differencesOf(before, after).map(({ kind, path }) => [kind, path])).toEqual([
    ["gone", "event.order.shipping_details"],
    ["added", "event.order.collected"],
    ["changed", "event.api_version"],
  ]);
});

it("says nothing of equal values, and that a text became a number", () => {
  expect(differencesOf({ a: [1, { b: 2 }] }, { a: [1, { b: 2 }] })).toEqual([]);
  expect(differencesOf({ id: "1" }, { id: 1 })).toHaveLength(1);
  expect(differencesOf({ a: null }, { a: {} })).toHaveLength(1);
});
