import { describe, expect, test } from "vitest";
import { niceTop, sidesOf, ticksOf } from "./chart-model";

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

describe("sidesOf", () => {
  test("gives the low side a quarter where its values fit the scale of the high one", () => {
    expect(sidesOf(46, 3, 112)).toEqual({ up: 84, down: 28, top: 50 });
    expect(sidesOf(0, 0, 112)).toEqual({ up: 84, down: 28, top: 2 });
  });

  test("has one scale on both sides also where more is below", () => {
    const { up, down, top, bottom = 0 } = sidesOf(10, 26, 112);
    expect([top, bottom]).toEqual([10, 40]);
    expect(up / top).toBeCloseTo(down / bottom);
    expect(up + down).toBeCloseTo(112);
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
