/** A run's record, with the parts that the server's document leaves open. */

import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "./json";
import type { components, Delivery, Run, WouldSend } from "./schema";
import type { Status } from "./status";

export type RunKind = components["schemas"]["RunKind"];

export type StepRecord = {
  name: string;
  /** `succeeded`, `failed`, `skipped` or another word of the server. */
  status: string;
  startedAt: number | undefined;
  durationMs: number | undefined;
  exports: JsonObject;
  /** Values of its props after expressions, where the server kept them. */
  props: JsonObject | undefined;
  summary: string | undefined;
  /** Its tries before the last one. */
  attempts: AttemptRecord[];
  /** What it gave to `$.send` in a test, which sends nothing. */
  wouldSend: (Pick<WouldSend, "kind" | "target"> & { payload: unknown })[];
};

export type AttemptRecord = {
  /** Its process or the server ended before it did: nothing else of it is known. */
  lost: boolean;
  startedAt: number | undefined;
  durationMs: number | undefined;
  problem: string | undefined;
};

export type RunError = {
  code: string;
  message: string;
  stack: string;
  step: string | undefined;
};

export type LogRecord = { at: number; level: string; text: string; step: string | undefined };

export type RunDetail = {
  id: string;
  status: Status;
  kind: string;
  ownerId: string;
  isWorkflow: boolean;
  ownerName: string | undefined;
  deploymentId: string | undefined;
  /** The run that this one repeats, and the newest that repeats this one. */
  replayOf: string | undefined;
  replayedBy: string | undefined;
  /** A replay of another event than the first run had. */
  eventEdited: boolean;
  attempt: number;
  triggerId: string;
  sourceType: string | undefined;
  event: unknown;
  context: JsonObject;
  steps: StepRecord[];
  returnValue: unknown;
  exitReason: string | undefined;
  paused: JsonObject | undefined;
  error: RunError | undefined;
  acceptedAt: number;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  durationMs: number | undefined;
  logs: LogRecord[];
  deliveries: Delivery[];
};

const FINAL: readonly Status[] = ["succeeded", "failed", "cancelled"];

export function isFinal(status: Status): boolean {
  return FINAL.includes(status);
}

export function statusOf(word: string): Status {
  const known: readonly Status[] = [
    "queued",
    "running",
    "paused",
    "succeeded",
    "failed",
    "cancelled",
  ];
  return known.find((status) => status === word) ?? "queued";
}

export function stepOf(given: unknown): StepRecord[] {
  if (!isObject(given)) return [];
  const name = textOf(given.namespace);
  if (name === undefined) return [];
  const exports = objectOf(given.exports);
  return [
    {
      name,
      status: textOf(given.status) ?? "",
      startedAt: numberOf(given.started_at_ms),
      durationMs: numberOf(given.duration_ms),
      exports,
      props: isObject(given.props) ? given.props : undefined,
      summary: textOf(exports.$summary),
      attempts: listOf(given.attempts).flatMap((each) => (isObject(each) ? attemptOf(each) : [])),
      wouldSend: listOf(given.would_send).flatMap((each) => {
        if (!isObject(each)) return [];
        const { kind, target, payload } = each;
        return [{ kind: textOf(kind) ?? "", target: textOf(target) ?? "", payload }];
      }),
    },
  ];
}

function attemptOf(given: JsonObject): AttemptRecord {
  const startedAt = numberOf(given.started_at_ms);
  const problem = isObject(given.error) ? textOf(given.error.message) : textOf(given.error);
  return {
    startedAt,
    durationMs: numberOf(given.duration_ms),
    problem,
    lost: startedAt === undefined && problem === undefined,
  };
}

/** When the first attempt of a run began, as far as its steps tell: its record has the time of the last one. */
export function firstStart(
  run: Pick<Run, "created_at_ms" | "started_at_ms">,
  steps: readonly StepRecord[],
): number | undefined {
  if (run.started_at_ms === null) return undefined;
  const known = steps
    .flatMap(({ startedAt, attempts }) => [startedAt, ...attempts.map((each) => each.startedAt)])
    // Results that a replay kept are of another run.
    .filter((at) => at !== undefined && at >= run.created_at_ms);
  return Math.min(run.started_at_ms, ...known.flatMap((at) => at ?? []));
}

export function errorOf(given: unknown, steps: readonly StepRecord[]): RunError | undefined {
  if (!isObject(given)) return undefined;
  return {
    code: textOf(given.code) ?? "Error",
    message: textOf(given.message) ?? "",
    stack: textOf(given.stack) ?? "",
    step: steps.find(({ status }) => status === "failed")?.name,
  };
}

export function runOf(run: Run): RunDetail {
  const context = objectOf(run.context);
  const steps = run.steps.flatMap(stepOf);
  return {
    id: run.id,
    status: statusOf(run.status),
    kind: run.kind,
    ownerId: run.workflow_id ?? run.source_id ?? "",
    isWorkflow: run.workflow_id !== null,
    ownerName: textOf(context.workflow_name),
    deploymentId: run.deployment_id ?? undefined,
    replayOf: run.replay_of ?? undefined,
    replayedBy: run.replayed_by ?? undefined,
    eventEdited: run.event_edited === true,
    attempt: run.attempt,
    triggerId: run.trigger_id,
    sourceType: textOf(context.source_type),
    event: run.event,
    context,
    steps,
    returnValue: run.return_value,
    exitReason: run.exit_reason ?? undefined,
    paused: isObject(run.paused) ? run.paused : undefined,
    error: errorOf(run.error, steps),
    acceptedAt: run.created_at_ms,
    startedAt: firstStart(run, steps),
    finishedAt: run.finished_at_ms ?? undefined,
    durationMs: run.duration_ms ?? undefined,
    logs: (run.logs ?? []).map((line) => ({
      at: line.ts,
      level: line.level,
      text: line.text,
      step: isObject(line) ? textOf(objectOf(line).step) : undefined,
    })),
    deliveries: run.deliveries ?? [],
  };
}
