// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { monogram } from "./tag";

test.each([
  ["Order fulfilment", "Of"],
  ["stripe", "St"],
  ["Ωμέγα", "Ωμ"],
  ["X", "X"],
  ["注文の処理", "注"],
  ["Orders 注文", "O"],
  ["カート", "カ"],
  ["हिन्दी", "हिन्दी"],
  ["🥯🥯", "🥯"],
  ["!", "!"],
  ["", "?"],
])("the tile of %s says %s", (name, says) => {
  expect(monogram(name)).toBe(says);
});
