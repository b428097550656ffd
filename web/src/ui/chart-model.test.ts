import { describe, expect, test } from "vitest";
import { niceTop, ticksOf } from "./chart-model";

describe("niceTop", () => {
  test.each([
    [0, 2],
    [1, 2],
    [3, 4],
    [5, 10],
    [10, 10],
    [11, 20],
    [37, 40],
    [46, 50],
    [51, 100],
    [101, 200],
    [999, 1000],
  ])("%i stands under %i", (most, top) => {
    expect(niceTop(most)).toBe(top);
  });
});

describe("ticksOf", () => {
  const hour = 3_600_000;
  test("are whole times within the range", () => {
    const from = Date.UTC(2026, 10, 25, 13, 32);
    const ticks = ticksOf(from, from + hour, 0);
    expect(ticks.map(({ at }) => new Date(at).toISOString().slice(11, 16))).toEqual([
      "13:40",
      "13:50",
      "14:00",
      "14:10",
      "14:20",
      "14:30",
    ]);
    expect(ticks[0]?.share).toBeCloseTo(8 / 60);
  });
  test("are whole in the zone of the reader", () => {
    const from = Date.UTC(2026, 10, 25, 0, 0);
    // India is 5 h 30 min ahead.
    const ticks = ticksOf(from, from + 24 * hour, 5.5 * hour);
    for (const { at } of ticks) expect((at + 5.5 * hour) % (4 * hour)).toBe(0);
  });
});
