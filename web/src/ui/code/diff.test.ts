import { expect, it } from "vitest";
import { differenceOf } from "./diff";

const text = (lines: Awaited<ReturnType<typeof differenceOf>>) =>
  lines.map((line) =>
    line.kind === "fold"
      ? `… ${line.count}`
      : `${{ same: " ", del: "-", add: "+" }[line.kind]}${line.pieces.map(({ text, marked }) => (marked ? `[${text}]` : text)).join("")}`,
  );

it("pairs changed lines and marks the words that changed", async () => {
  const lines = await differenceOf(
    "a\nconst to = order.shipping;\nz\n",
    "a\nconst to = order.collected;\nz\n",
  );
  expect(text(lines)).toEqual([
    " a",
    "-const to = order.[shipping];",
    "+const to = order.[collected];",
    " z",
  ]);
  expect(lines[1]).toMatchObject({ before: 2, after: null });
  expect(lines[2]).toMatchObject({ before: null, after: 2 });
});

it("folds what is far from any change, and shows nothing of equal texts", async () => {
  const many = Array.from({ length: 20 }, (_, index) => `line ${index}`).join("\n");
  expect(text(await differenceOf(`${many}\nend`, `${many}\nEND`))[0]).toBe("… 17");
  expect(await differenceOf(many, many)).toEqual([]);
});

it("marks no words in a large block, and the middle of a long line alone", async () => {
  const block = (word: string) =>
    Array.from({ length: 101 }, (_, at) => `${word} ${at}`).join("\n");
  const large = await differenceOf(block("old"), block("new"));
  expect(large.every((line) => line.kind === "fold" || line.pieces.length === 1)).toBe(true);
  const long = (word: string) => `${"a ".repeat(1_000)}${word}${" z".repeat(5_000)}`;
  const lines = await differenceOf(long("old"), long("now"));
  expect(text(lines)[0]).toMatch(/^-(a )+\[old\] z.* … 9,200 characters … .*z$/);
});
