import { expect, test } from "vitest";
import { heldRows } from "./held-list";

/** From the newest down, as of a moment. */
const rows = (from: number, to: number, at = 0) =>
  Array.from({ length: from - to + 1 }, (_, n) => ({ id: `run_${from - n}`, at }));

const idsOf = (of: readonly { id: string }[]) => of.map(({ id }) => id);

test("rows stay where they were, as they are now; rows above them wait", () => {
  const { shown, fresh, isAtLeast } = heldRows(rows(50, 1), rows(90, 41, 7), true);
  expect(idsOf(shown)).toEqual(idsOf(rows(50, 1)));
  expect(shown.filter(({ at }) => at === 7)).toHaveLength(10);
  expect(idsOf(fresh)).toEqual(idsOf(rows(90, 51)));
  expect(isAtLeast).toBe(false);
});

test("rows stay when more came than are read, and how many came is not known", () => {
  const { shown, fresh, isAtLeast } = heldRows(rows(50, 1), rows(170, 121), true);
  expect(idsOf(shown)).toEqual(idsOf(rows(50, 1)));
  expect(fresh).toHaveLength(50);
  expect(isAtLeast).toBe(true);
});

test("the next page is added below", () => {
  const { shown, fresh } = heldRows(rows(100, 51), rows(102, 1), true);
  expect(idsOf(shown)).toEqual(idsOf(rows(100, 1)));
  expect(idsOf(fresh)).toEqual(["run_102", "run_101"]);
});

test("rows that move up stay where they were; those that are gone stay or leave", () => {
  const now = [{ id: "new" }, { id: "b" }, { id: "a" }];
  const held = [{ id: "a" }, { id: "gone" }, { id: "b" }];
  expect(idsOf(heldRows(held, now, false).shown)).toEqual(["a", "b"]);
  expect(idsOf(heldRows(held, now, true).shown)).toEqual(["a", "gone", "b"]);
  expect(idsOf(heldRows(held, now, true).fresh)).toEqual(["new"]);
});
