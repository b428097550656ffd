/** Runs that wait for a person, in words. */

import { count, plural } from "~/ui/format";

/** `isMore`: not all paused runs were looked at. */
export type Waiting = { n: number; isMore: boolean };

/** "2 runs are waiting for a person". */
export function waitingRuns({ n, isMore }: Waiting): string {
  if (isMore) return `${count(n)} runs or more are ${FOR}`;
  return `${plural(n, "run")} ${n === 1 ? "is" : "are"} ${FOR}`;
}

/** "2 waiting for a person", beside a count of runs. */
export function waitingCount({ n, isMore }: Waiting): string {
  return `${count(n)}${isMore ? " or more" : ""} ${FOR}`;
}

const FOR = "waiting for a person";
