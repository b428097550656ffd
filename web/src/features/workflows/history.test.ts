import { expect, test } from "vitest";
import { begun, edited, redone, undone } from "./history";

test("typing at one place is undone at once, other edits one by one", () => {
  let history = begun("a");
  history = edited(history, "ab", "Edit x", "x");
  history = edited(history, "abc", "Edit x", "x");
  history = edited(history, "abcd", "Move x");
  expect(history.past.map(({ says }) => says)).toEqual(["Edit x", "Move x"]);
  history = undone(history);
  expect(history.now).toBe("abc");
  history = undone(history);
  expect(history.now).toBe("a");
  expect(undone(history)).toBe(history);
  history = redone(history);
  expect(history.now).toBe("abc");
  // An edit after an undo is one of its own, and ends what could be redone.
  history = edited(history, "abX", "Edit x", "x");
  expect(history.future).toEqual([]);
  expect(undone(history).now).toBe("abc");
});

test("a hundred edits are kept", () => {
  let history = begun(0);
  for (let n = 1; n <= 150; n += 1) history = edited(history, n, `${n}`);
  expect(history.past).toHaveLength(100);
});
