/** Next times of a schedule: which one is shown, and when they are asked for anew. Pure. */

/** A change of the timer elsewhere is seen after this time at the latest. */
const ASK_MAX_MS = 300_000;
const ASK_MIN_MS = 30_000;

/** When to ask for the times anew: once the next one has passed. */
export function askAgainMs(times: readonly number[] | undefined, now: number): number {
  return Math.min(Math.max((times?.[0] ?? now) - now, ASK_MIN_MS), ASK_MAX_MS);
}

/** The first time that has not passed; of times that have all passed the last one. */
export function nextOf(times: readonly number[] | undefined, now: number): number | undefined {
  return times?.find((at) => at > now) ?? times?.at(-1);
}
