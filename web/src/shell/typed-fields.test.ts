import { expect, test } from "vitest";
import { conflictsOf, rebased, typedAfter, typedFrom, typedWith, unsavedOf } from "./typed-fields";

const stored = { name: "Northgate", people: "a@north.example", note: "" };

test("a field that is typed back is not typed, and what is kept is read again", () => {
  const typed = typedWith({}, stored, "name", "Other");
  expect(typed).toEqual({ name: { from: "Northgate", to: "Other" } });
  expect(typedFrom(JSON.parse(JSON.stringify(typed)))).toEqual(typed);
  expect(typedFrom({ name: "Other", note: { from: 1, to: "x" } })).toEqual({});
  expect(typedWith(typed, stored, "name", "Northgate")).toEqual({});
});

test("only what is typed and differs from the record is sent", () => {
  const typed = typedWith(typedWith({}, stored, "name", "Other"), stored, "note", "mine");
  expect(unsavedOf(typed, { ...stored, name: "Other", people: "b@north.example" })).toEqual({
    note: { from: "", to: "mine" },
  });
});

test("what is typed while a save is under way is not taken for saved", () => {
  const sent = typedWith(typedWith({}, stored, "name", " Other "), stored, "note", "mine");
  const saved = { ...stored, name: "Other", note: "mine" };
  expect(typedAfter(sent, sent, saved)).toEqual({});
  const typed = typedWith(typedWith(sent, stored, "name", "Others"), stored, "people", "b");
  expect(typedAfter(typed, sent, saved)).toEqual({
    name: { from: "Other", to: "Others" },
    people: { from: stored.people, to: "b" },
  });
});

test("a typed field that became another text meanwhile is a conflict until it is decided on", () => {
  let typed = typedWith({}, stored, "name", "Mine");
  typed = typedWith(typed, stored, "note", "same");
  const theirs = { name: "Theirs", people: "b@north.example", note: "same" };
  expect(conflictsOf(typed, stored)).toEqual([]);
  expect(conflictsOf(typed, theirs)).toEqual(["name"]);
  // Typed on, it is a conflict still.
  expect(conflictsOf(typedWith(typed, theirs, "name", "Mine too"), theirs)).toEqual(["name"]);
  expect(conflictsOf(rebased(typed, theirs), theirs)).toEqual([]);
  expect(conflictsOf(rebased(typed, theirs), { ...theirs, name: "Theirs again" })).toEqual([
    "name",
  ]);
});
