import { expect, test } from "vitest";
import { neighboursOf } from "./run-order";

test("a run of a list knows those beside it", () => {
  expect(neighboursOf("b", ["a", "b", "c"])).toEqual({ at: 2, of: 3, previous: "a", next: "c" });
  expect(neighboursOf("a", ["a", "b"])).toEqual({ at: 1, of: 2, previous: undefined, next: "b" });
});

test("a run that was opened by its address has none", () => {
  expect(neighboursOf("d", ["a", "b", "c"])).toBeUndefined();
  expect(neighboursOf("a", ["a"])).toBeUndefined();
});
