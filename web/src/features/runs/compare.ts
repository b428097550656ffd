/** Two runs step by step: what each gave, how long it took, and what is different between them. Pure. */

import type { RunDetail, StepRecord } from "~/api/runs";
import { type Difference, everyDifference } from "./differs";

export type Verdict = "same" | "differs" | "only-first" | "only-second" | "failed" | "mended";

export type ComparedStep = {
  name: string;
  verdict: Verdict;
  first: StepRecord | undefined;
  second: StepRecord | undefined;
  /** It failed in both runs. */
  failedTwice: boolean;
  /** In what the step gave. */
  differences: Difference[];
};

const SHOWN_MAX = 50;

/** Steps of both runs in the order of the second, those that it has no more at their old place. */
export function comparedSteps(first: RunDetail, second: RunDetail): ComparedStep[] {
  const names = first.steps.map(({ name }) => name);
  for (const [at, { name }] of second.steps.entries()) {
    if (names.includes(name)) continue;
    const previous = second.steps[at - 1]?.name;
    names.splice(previous === undefined ? 0 : names.indexOf(previous) + 1, 0, name);
  }
  return names.map((name) => {
    const [one, other] = [first, second].map(({ steps }) =>
      steps.find((step) => step.name === name),
    );
    const differences = everyDifference(one?.exports, other?.exports, `steps.${name}`, SHOWN_MAX);
    const failedTwice = one?.status === "failed" && other?.status === "failed";
    const verdict = verdictOf(one, other, differences);
    return {
      name,
      first: one,
      second: other,
      verdict: failedTwice && !isSameError(first, second) ? "differs" : verdict,
      failedTwice,
      differences: one === undefined || other === undefined ? [] : differences,
    };
  });
}

export function isSameError(first: RunDetail, second: RunDetail): boolean {
  return first.error?.message === second.error?.message && first.error?.code === second.error?.code;
}

/** How long a step took; one that failed ended with its run. */
export function tookOf(step: StepRecord | undefined, run: RunDetail): number | undefined {
  if (step?.durationMs !== undefined) return step.durationMs;
  if (step?.status !== "failed" || step.startedAt === undefined) return undefined;
  return run.finishedAt === undefined ? undefined : run.finishedAt - step.startedAt;
}

function verdictOf(
  first: StepRecord | undefined,
  second: StepRecord | undefined,
  differences: readonly Difference[],
): Verdict {
  if (first === undefined) return "only-second";
  if (second === undefined) return "only-first";
  if (first.status !== "failed" && second.status === "failed") return "failed";
  if (first.status === "failed" && second.status !== "failed") return "mended";
  return differences.length === 0 ? "same" : "differs";
}

export const verdictWords: Record<Verdict, string> = {
  same: "same",
  differs: "differs",
  "only-first": "only in the first",
  "only-second": "only in the second",
  failed: "throws now",
  mended: "no longer throws",
};
