/** Versions of the code that a replay may run, as they are read. */

import { useQuery } from "@tanstack/react-query";
import type { RunDetail } from "~/api/runs";
import { type Plan, planQuery, versionsQuery } from "./queries";

export type Changed = { at: number; by: string | undefined };

/** The version that the run had, the one that runs now, and the draft where it differs. */
export function usePlans(run: RunDetail): {
  had: Plan | undefined;
  live: Plan | undefined;
  draft: Plan | undefined;
  changed: Changed | undefined;
  /** Why a version could not be read. */
  error: Error | null;
  again: () => unknown;
} {
  const own = useQuery({
    ...planQuery(run.ownerId, run.deploymentId ?? ""),
    enabled: run.isWorkflow && run.deploymentId !== undefined,
  });
  const listed = useQuery({ ...versionsQuery(run.ownerId), enabled: run.isWorkflow });
  const versions = listed.data;
  const current = useQuery({
    ...planQuery(run.ownerId, versions?.live ?? ""),
    enabled: versions?.live !== undefined,
  });
  const failed = [own, listed, current].filter(({ error }) => error !== null);
  return {
    had: own.data,
    live: current.data,
    draft: versions?.draft,
    changed: versions?.changed,
    error: failed[0]?.error ?? null,
    again: () => Promise.all(failed.map(({ refetch }) => refetch())),
  };
}
