/** Comparison of two runs of one event, before and after a save of `millrace dev`. Pure. */

import type { RunDetail } from "~/api/runs";
import { exactText } from "~/json/exact";
import { type ComparedStep, comparedSteps } from "./compare";

export type Pair = { before: RunDetail; after: RunDetail; changed: ComparedStep[] };

/** What a request says of itself is no part of what was sent. */
function sentOf(event: unknown): string {
  if (typeof event !== "object" || event === null || !("method" in event)) {
    return exactText(event) ?? "";
  }
  const { method, path, query, body } = { path: null, query: null, body: null, ...event };
  return exactText([method, path, query, body]) ?? "";
}

/** The newest runs of two versions that had the same event, where their results are not the same. */
export function pairOf(
  runs: readonly RunDetail[],
  before: string | undefined,
  after: string,
): Pair | undefined {
  for (const second of runs) {
    if (second.deploymentId !== after) continue;
    const sent = sentOf(second.event);
    const first = runs.find((run) => run.deploymentId === before && sentOf(run.event) === sent);
    if (first === undefined) continue;
    const changed = comparedSteps(first, second).filter(({ verdict }) => verdict !== "same");
    return { before: first, after: second, changed };
  }
  return undefined;
}
