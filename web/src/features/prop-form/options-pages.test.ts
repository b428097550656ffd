import { expect, test } from "vitest";
import { bringsNew, optionsIn } from "./options-pages";

const page = (...values: unknown[]) => ({
  options: values.map((value) => ({ label: `The ${String(value)}`, value })),
});

test("a page that repeats the one before is the end, and adds nothing", () => {
  expect(bringsNew([page("a", "b")])).toBe(true);
  expect(bringsNew([page("a", "b"), page("b", "a")])).toBe(false);
  expect(bringsNew([page("a"), page()])).toBe(false);
  expect(bringsNew([page("a"), page("a", "b")])).toBe(true);
  expect(optionsIn([page("a", 1), page(1, "b")]).map(({ value }) => value)).toEqual(["a", 1, "b"]);
});
