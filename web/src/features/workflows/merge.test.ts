import { expect, test } from "vitest";
import { mergeOf, sameKeys } from "./merge";
import type { Draft, StepDraft } from "./model";

const step = (namespace: string, code: string, more: Partial<StepDraft> = {}): StepDraft => ({
  key: `k-${namespace}`,
  namespace,
  savedAs: namespace,
  runs: { kind: "code", code },
  props: {},
  disabled: false,
  ...more,
});
const draft = (...steps: StepDraft[]): Draft => ({ triggers: [], steps });
const names = ({ steps }: Draft) => steps.map(({ namespace }) => namespace);
const codes = ({ steps }: Draft) =>
  steps.map(({ runs }) => (runs.kind === "code" ? runs.code : runs.component));

const base = draft(step("load", "1"), step("check", "2", { props: { a: 1, b: 1 } }));

test("changes of different things are both there", () => {
  const mine = draft(step("load", "mine"), step("check", "2", { props: { a: 2, b: 1 } }));
  const theirs = draft(
    step("load", "1"),
    step("check", "theirs", { props: { a: 1, b: 2 } }),
    step("last", "3"),
  );
  const merged = mergeOf(base, mine, theirs);
  expect(merged.conflicts).toEqual([]);
  expect(codes(merged.draft)).toEqual(["mine", "theirs", "3"]);
  expect(merged.draft.steps[1]?.props).toEqual({ a: 2, b: 2 });
  expect(merged.taken).toEqual(["check: b", "check: code", "last added"]);
});

test("what both changed is decided, and stays as it is here until then", () => {
  const mine = draft(step("load", "mine"), ...base.steps.slice(1));
  const theirs = draft(step("load", "theirs"), ...base.steps.slice(1));
  const { conflicts, draft: kept } = mergeOf(base, mine, theirs);
  expect(conflicts.map(({ what }) => what)).toEqual(["load: code"]);
  expect(conflicts[0]?.texts).toEqual({ base: "1", mine: "mine", theirs: "theirs" });
  expect(codes(kept)[0]).toBe("mine");
  const decided = mergeOf(base, mine, theirs, { [conflicts[0]?.id ?? ""]: "theirs" });
  expect(codes(decided.draft)[0]).toBe("theirs");
});

test("the same change on both sides is none to decide", () => {
  const both = draft(step("load", "same"), ...base.steps.slice(1));
  expect(mergeOf(base, both, both).conflicts).toEqual([]);
});

test("a removed step goes, unless the other side changed it", () => {
  const removed = draft(...base.steps.slice(1));
  expect(names(mergeOf(base, base, removed).draft)).toEqual(["check"]);
  expect(names(mergeOf(base, removed, base).draft)).toEqual(["check"]);
  const changed = draft(step("load", "mine"), ...base.steps.slice(1));
  const merged = mergeOf(base, changed, removed);
  expect(merged.conflicts.length).toBe(1);
  expect(names(merged.draft)).toEqual(["load", "check"]);
  const gone = mergeOf(base, changed, removed, { [merged.conflicts[0]?.id ?? ""]: "theirs" });
  expect(names(gone.draft)).toEqual(["check"]);
});

test("an order that was changed here stays, and what they added follows what it followed there", () => {
  const mine = draft(...base.steps.toReversed());
  const theirs = draft(step("load", "1"), step("mid", "m"), ...base.steps.slice(1));
  expect(names(mergeOf(base, mine, theirs).draft)).toEqual(["check", "load", "mid"]);
});

test("two steps added under one name have two names", () => {
  const mine = draft(...base.steps, step("code", "a", { key: "new-1" }));
  const theirs = sameKeys(draft(...base.steps, step("code", "b", { key: "s_9" })), base);
  expect(names(mergeOf(base, mine, theirs).draft)).toEqual(["load", "check", "code", "code_2"]);
});
