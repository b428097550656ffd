import { expect, it } from "vitest";
import type { RunDetail } from "~/api/runs";
import type { PlannedStep } from "./queries";
import { beginnings, changesOf, choicesOf, editedOf, fatesOf, nameOf } from "./replay-plan";

const step = (name: string, more: Partial<PlannedStep> = {}): PlannedStep => ({
  name,
  disabled: false,
  code: name,
  entry: `steps/${name}.mjs`,
  files: {},
  key: undefined,
  props: {},
  apps: [],
  ...more,
});
const steps = [step("a"), step("b"), step("c"), step("off", { disabled: true })];

it("keeps what stands before the step that begins, and leaves steps off that are off", () => {
  expect(fatesOf(steps, "b").map(({ fate }) => fate)).toEqual(["kept", "again", "again", "off"]);
  expect(fatesOf(steps, undefined).map(({ fate }) => fate)).toEqual([
    "again",
    "again",
    "again",
    "off",
  ]);
});

it("begins with a step only where those before have results", () => {
  const run = {
    steps: [
      { name: "a", status: "succeeded" },
      { name: "b", status: "failed" },
    ],
  } as RunDetail;
  expect(beginnings(run, steps)).toEqual(["b"]);
});

it("names the steps whose code changed between two versions", () => {
  const had = { version: 1, steps: [step("a"), step("b")] };
  const live = { version: 2, steps: [step("a"), step("b", { code: "new" }), step("c")] };
  expect(changesOf(had, live).map(({ name }) => name)).toEqual(["b", "c"]);
  expect(changesOf(had, had)).toEqual([]);
});

it("offers a version once: the run's own only where another is live, the draft only where there is one", () => {
  const one = { version: 1, steps };
  const two = { version: 2, steps };
  const draft = { version: 0, steps };
  const of = (plans: Parameters<typeof choicesOf>[0]) =>
    choicesOf(plans).map(({ version, plan }) => `${version} ${nameOf(plan)}`);
  expect(of({ had: one, live: two, draft })).toEqual(["live v2", "original v1", "draft the draft"]);
  expect(of({ had: two, live: two, draft: undefined })).toEqual(["live v2"]);
  expect(of({ had: one, live: undefined, draft: undefined })).toEqual(["original v1"]);
});

it("takes an edited event only where it is JSON", () => {
  expect(editedOf('{"n": 1}')).toEqual({ event: { n: 1 } });
  expect(editedOf("null")).toEqual({ event: null });
  expect(editedOf("{n: 1}")).toEqual({
    problem: 'Line 1, column 2: text must be in quotes. Did you mean "n"?',
  });
});
