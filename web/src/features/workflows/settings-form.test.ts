import { expect, test } from "vitest";
import { conflictsOf, formOf, settingsRequest, typedFrom, typedWith } from "./settings-form";

const record = {
  name: "Labels",
  tags: ["a", "b"],
  note: null,
  settings: { timeout_ms: 30_000, concurrency: 2, keep_data: false },
};
const saved = formOf(record);

test("only the fields that were changed are sent", () => {
  expect(settingsRequest({})).toEqual({});
  let typed = typedWith({}, saved, "timeout_ms", "7.5");
  typed = typedWith(typed, saved, "concurrency", "");
  typed = typedWith(typed, saved, "keep_data", "on");
  typed = typedWith(typed, saved, "tags", "b, b, c");
  expect(settingsRequest(typed)).toEqual({
    tags: ["b", "c"],
    settings: { timeout_ms: 7_500, concurrency: false, keep_data: true },
  });
  expect(typedFrom(JSON.parse(JSON.stringify(typed)))).toEqual(typed);
});

test("a field that is typed back is not changed", () => {
  const typed = typedWith({}, saved, "name", "Other");
  expect(typedWith(typed, saved, "name", "Labels")).toEqual({});
});

test("what changed at the server meanwhile is a conflict, where it became another text", () => {
  let typed = typedWith({}, saved, "name", "Mine");
  typed = typedWith(typed, saved, "concurrency", "4");
  expect(conflictsOf(typed, saved)).toEqual([]);
  const other = formOf({ ...record, name: "Mine", note: "new", settings: { concurrency: 3 } });
  expect(conflictsOf(typed, other)).toEqual(["concurrency"]);
});
