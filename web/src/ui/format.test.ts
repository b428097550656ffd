import { describe, expect, it } from "vitest";
import { ago, bytes, coarse, duration, every, percent, plural, shortId } from "./format";

const plain = (text: string) => text.replaceAll("\u202f", " ");

describe("durations", () => {
  it.each([
    [0, "0 ms"],
    [84.4, "84 ms"],
    [999, "999 ms"],
    [2_240, "2.24 s"],
    [18_400, "18.4 s"],
    [252_000, "4 m 12 s"],
    [240_000, "4 m"],
    [18_000_000, "5 h"],
    [90_000_000, "1 d 1 h"],
  ])("%d ms is %s", (ms, text) => {
    expect(plain(duration(ms))).toBe(text);
  });
});

describe("times", () => {
  const now = Date.UTC(2026, 10, 25, 14, 0, 0);
  it.each([
    [1_000, "just now"],
    [42_000, "42 s ago"],
    [120_000, "2 min ago"],
    [5 * 3_600_000, "5 h ago"],
    [4 * 86_400_000, "21 Nov"],
    [400 * 86_400_000, "21 Oct 2025"],
  ])("%d ms ago is %s", (past, text) => {
    expect(plain(ago(now - past, now))).toBe(text);
  });
  it("says how far a time to come is", () => {
    expect(plain(ago(now + 42_000, now))).toBe("in 42 s");
    expect(plain(coarse(180_000))).toBe("3 min");
  });
});

it("counts with the right noun and without a division by zero", () => {
  expect(plural(1, "run")).toBe("1 run");
  expect(plural(1_204, "run")).toBe("1,204 runs");
  expect(plural(2, "entry", "entries")).toBe("2 entries");
  expect(plain(percent(41, 2_316))).toBe("1.8 %");
  expect(plain(percent(0, 0))).toBe("0 %");
});

it("writes sizes in binary units", () => {
  expect(plain(bytes(74))).toBe("74 B");
  expect(plain(bytes(6_246))).toBe("6.1 KB");
  expect(plain(bytes(5 * 1_024 * 1_024))).toBe("5 MB");
});

it("cuts ids in the middle and leaves short ones whole", () => {
  expect(shortId("run_8kQ2mZx0Vb1T")).toBe("run_8kQ2…1T");
  expect(shortId("run_abc")).toBe("run_abc");
});

it("says intervals in the largest unit that fits", () => {
  expect(every(60)).toBe("every minute");
  expect(every(900)).toBe("every 15 minutes");
  expect(every(90)).toBe("every 90 seconds");
  expect(every(86_400)).toBe("every day");
});
