import { expect, test } from "vitest";
import { partsOf } from "./line-parts";

const numbered = (count: number, word: string) =>
  Array.from({ length: count }, (_, at) => `${word} ${at}\n`).join("");

test("what two texts share at their ends is no part of the search", async () => {
  const long = numbered(10_000, "line");
  let compared = 0;
  const parts = await partsOf(`${long}a\n${long}`, `${long}b\n${long}`, (one, other) => {
    compared += 1;
    return one === other;
  });
  expect(parts.map(({ kind, lines }) => [kind, lines.length])).toEqual([
    ["same", 10_000],
    ["del", 1],
    ["add", 1],
    ["same", 10_000],
  ]);
  expect(compared).toBeLessThan(20_100);
});

test("texts with nothing in common are one replaced block after a bounded number of comparisons", async () => {
  let compared = 0;
  const [before, after] = [numbered(20_000, "old"), numbered(20_000, "new")];
  const parts = await partsOf(`same\n${before}`, `same\n${after}`, (one, other) => {
    compared += 1;
    return one === other;
  });
  expect(parts.map(({ kind, lines }) => [kind, lines.length])).toEqual([
    ["same", 1],
    ["del", 20_000],
    ["add", 20_000],
  ]);
  expect(compared).toBeLessThan(500_000);
});

test("a line break that one text alone ends with is a difference", async () => {
  expect(await partsOf("a\nb", "a\nb\n")).toEqual([
    { kind: "same", lines: ["a"] },
    { kind: "del", lines: ["b"] },
    { kind: "add", lines: ["b"] },
  ]);
  expect(await partsOf("", "a\n\n")).toEqual([{ kind: "add", lines: ["a", ""] }]);
});
