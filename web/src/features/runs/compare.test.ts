import { expect, it } from "vitest";
import { type RunDetail, type StepRecord, stepOf } from "~/api/runs";
import { comparedSteps, tookOf } from "./compare";

const record = (given: object): StepRecord | undefined => stepOf({ namespace: "a", ...given })[0];
const ended = { finishedAt: 2_000 } as RunDetail;
const going = { finishedAt: undefined } as RunDetail;

it("says how long a step took, one that failed until the end of its run", () => {
  expect(tookOf(record({ status: "succeeded", duration_ms: 40 }), ended)).toBe(40);
  expect(tookOf(record({ status: "failed", started_at_ms: 1_730 }), ended)).toBe(270);
});

it("says nothing of a step that is not there or goes on", () => {
  expect(tookOf(undefined, ended)).toBeUndefined();
  expect(tookOf(record({ status: "", started_at_ms: 1_730 }), going)).toBeUndefined();
  expect(tookOf(record({ status: "failed", started_at_ms: 1_730 }), going)).toBeUndefined();
});

it("says of a step that failed in both runs whether it failed in the same way", () => {
  const run = (message: string) =>
    ({
      steps: [record({ status: "failed" })],
      error: { code: "Error", message },
    }) as unknown as RunDetail;
  const compared = (first: string, second: string) => {
    const [step] = comparedSteps(run(first), run(second));
    return [step?.failedTwice, step?.verdict];
  };
  expect(compared("no stock", "no stock")).toEqual([true, "same"]);
  expect(compared("no stock", "closed")).toEqual([true, "differs"]);
});
