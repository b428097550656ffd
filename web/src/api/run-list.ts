/** A run as lists show it. */

import { objectOf, textOf } from "./json";
import { errorOf, runOf, statusOf } from "./runs";
import type { Run } from "./schema";
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

/** Fields that a row needs of a whole record: never events. */
export const ROW_FIELDS =
  "id,workflow_id,source_id,deployment_id,status,kind,attempt,trigger_id,context,steps,paused,duration_ms,error,created_at,created_at_ms,started_at_ms,finished_at_ms";

export function rowOf(run: Run): RunRow {
  const detail = runOf({ ...run, steps: run.steps ?? [] });
  const paused = objectOf(run.paused);
  return {
    id: run.id,
    status: statusOf(run.status),
    kind: run.kind,
    ownerId: detail.ownerId,
    isWorkflow: detail.isWorkflow,
    ownerName: detail.ownerName ?? detail.ownerId,
    error: errorOf(run.error, detail.steps),
    summary: detail.steps.findLast(({ summary }) => summary !== undefined)?.summary,
    steps: detail.steps,
    acceptedAt: detail.acceptedAt,
    startedAt: detail.startedAt,
    finishedAt: detail.finishedAt,
    version: undefined,
    replayOf: undefined,
    paused:
      detail.paused === undefined
        ? undefined
        : {
            step: textOf(paused.namespace),
            until: typeof paused.until_ms === "number" ? paused.until_ms : undefined,
            kind: textOf(paused.kind),
          },
  };
}
