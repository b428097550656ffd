/** A run as lists show it. */

import { listOf, objectOf, textOf } from "./json";
import { errorOf, firstStart, statusOf, stepOf } from "./runs";
import type { ListedRun } from "./schema";
import type { Status } from "./status";

export type RunRow = {
  id: string;
  status: Status;
  kind: string;
  ownerId: string;
  isWorkflow: boolean;
  ownerName: string;
  error: { code: string; message: string; step: string | undefined } | undefined;
  summary: string | undefined;
  steps: { status: string; durationMs: number | undefined }[];
  acceptedAt: number;
  startedAt: number | undefined;
  finishedAt: number | undefined;
  version: number | undefined;
  replayOf: string | undefined;
  /** Step that a paused run waits in, and until when. */
  paused:
    | { step: string | undefined; until: number | undefined; kind: string | undefined }
    | undefined;
};

/** A light record, as the list of all runs gives them. */
export function listedRowOf(run: ListedRun): RunRow {
  const steps = listOf(run.steps).flatMap(stepOf);
  const ownerId = run.workflow_id ?? run.source_id ?? "";
  return {
    id: run.id,
    status: statusOf(run.status),
    kind: run.kind,
    ownerId,
    isWorkflow: run.workflow_id !== null,
    ownerName: run.owner_name || ownerId,
    error: errorOf(run.error, steps),
    summary: run.summary ?? undefined,
    steps,
    acceptedAt: run.created_at_ms,
    startedAt: firstStart(run, steps),
    finishedAt: run.finished_at_ms ?? undefined,
    version: run.version ?? undefined,
    replayOf: run.replay_of ?? undefined,
    paused: pausedOf(run.paused),
  };
}

function pausedOf(given: unknown): RunRow["paused"] {
  const paused = objectOf(given);
  const step = textOf(paused.namespace);
  const kind = textOf(paused.kind);
  if (step === undefined && kind === undefined) return undefined;
  return { step, until: typeof paused.until_ms === "number" ? paused.until_ms : undefined, kind };
}
