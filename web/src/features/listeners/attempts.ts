/** Timeline of a delivery: an entry for each attempt that is kept, with the wait before it. Pure. */

import type { WebhookAttempt, WebhookDeliveryDetail } from "~/api/schema";

export type Attempt = {
  /** When it began, epoch milliseconds. */
  at: number;
  /** From the end of the attempt before it; `undefined`: that one is not kept, or it was at once. */
  waitedMs: number | undefined;
  tookMs: number;
  outcome: string;
  accepted: boolean;
  /** Why it failed, where that is more than the outcome. */
  reason: string | undefined;
  answer: string | undefined;
};

/** A shorter wait is none. */
const AT_ONCE_MS = 1_000;
/** Attempts that the server keeps of a delivery. */
const KEPT_MAX = 20;

type Logged = Pick<WebhookDeliveryDetail, "attempts" | "attempt_log" | "created_at">;

export function attemptsOf({ attempts, attempt_log, created_at }: Logged): Attempt[] {
  const isWhole = attempt_log.length < KEPT_MAX && attempts <= attempt_log.length;
  return attempt_log.map((attempt, index) => {
    const before = attempt_log[index - 1];
    // Times of records are whole seconds: of the first wait only those that it had at least count.
    const waited =
      before === undefined
        ? Math.floor(attempt.at_ms / 1_000 - created_at - 1) * 1_000
        : attempt.at_ms - before.at_ms - before.duration_ms;
    const isKnown = before !== undefined || isWhole;
    return {
      at: attempt.at_ms,
      waitedMs: isKnown && waited >= AT_ONCE_MS ? waited : undefined,
      tookMs: attempt.duration_ms,
      outcome: attempt.status === null ? "No answer" : `Answered ${attempt.status}`,
      accepted: attempt.error === null,
      reason: reasonOf(attempt),
      answer: attempt.answer ?? undefined,
    };
  });
}

/** Attempts since the last replay that the log has no more: all that are kept come after them. */
export function notKept({ attempts, attempt_log }: Omit<Logged, "created_at">): number {
  return Math.max(0, attempts - attempt_log.length);
}

function reasonOf({ error, status }: WebhookAttempt): string | undefined {
  return error === null || error === `the receiver answered ${status}` ? undefined : error;
}
