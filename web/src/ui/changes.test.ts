import { expect, test } from "vitest";
import { changesOf, SECRET, valueText } from "./changes";

test("values that differ are named, also those that are new or gone; the order of an object's names is no difference", () => {
  const before = { kept: { a: 1, b: [1, 2] }, gone: "x", was: 1, null: null };
  const after = { was: 2, kept: { b: [1, 2], a: 1 }, made: false };
  expect(changesOf(before, after)).toEqual([
    { name: "was", before: 1, after: 2 },
    { name: "made", before: undefined, after: false },
    { name: "gone", before: "x", after: undefined },
  ]);
});

test("the order of a list is a difference", () => {
  expect(changesOf({ list: [1, 2] }, { list: [2, 1] })).toHaveLength(1);
});

test("of a secret only whether there is one can differ", () => {
  expect(changesOf({ key: SECRET }, { key: SECRET })).toEqual([]);
  expect(changesOf({}, { key: SECRET })).toEqual([
    { name: "key", before: undefined, after: SECRET },
  ]);
});

test("a value is shown as it is typed", () => {
  expect([valueText("as it is"), valueText(undefined), valueText(SECRET), valueText([1])]).toEqual([
    "as it is",
    "not set",
    "secret",
    "[\n  1\n]",
  ]);
});
