import { expect, test } from "vitest";
import { changedLines } from "./changed-lines";

test("lines that are new, changed, and where some are gone", async () => {
  expect(await changedLines("a\nb\nc\n", "a\nB\nc\n")).toEqual([{ line: 2, kind: "changed" }]);
  expect(await changedLines("a\nc\n", "a\nb\nc\n")).toEqual([{ line: 2, kind: "new" }]);
  expect(await changedLines("a\nb\nc\n", "a\nc\n")).toEqual([{ line: 2, kind: "gone" }]);
  expect(await changedLines("a\nb\n", "a\n")).toEqual([{ line: 1, kind: "gone" }]);
  expect(await changedLines("same", "same")).toEqual([]);
});
