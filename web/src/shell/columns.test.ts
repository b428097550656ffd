// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { chosenOf, hiddenOf } from "./columns";

const columns = [
  { name: "took", label: "Took" },
  { name: "when", label: "When" },
  { name: "version", label: "Version", off: true },
];

test("a list begins with its usual columns, and what was chosen is read as it was written", () => {
  expect(hiddenOf(columns, "")).toEqual(["version"]);
  expect(chosenOf(columns, ["version"])).toBe("");
  for (const hidden of [["took"], ["took", "when", "version"], [], ["when", "version"]]) {
    expect(hiddenOf(columns, chosenOf(columns, hidden))).toEqual(hidden);
  }
});

test("columns that are gone are passed over", () => {
  expect(hiddenOf(columns, "-gone +other -took")).toEqual(["took", "version"]);
});
