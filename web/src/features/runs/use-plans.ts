/** Versions of the code that a replay may run, as they are read. */

import { useQuery } from "@tanstack/react-query";
import type { RunDetail } from "~/api/runs";
import {
  liveOfSourceQuery,
  type Plan,
  planOfSource,
  planQuery,
  sourcePlanQuery,
  versionsQuery,
} from "./queries";

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
  isLoading: boolean;
} {
  const { isWorkflow, ownerId, deploymentId = "" } = run;
  const own = useQuery({
    ...planQuery(ownerId, deploymentId),
    enabled: isWorkflow && deploymentId !== "",
  });
  const listed = useQuery({ ...versionsQuery(ownerId), enabled: isWorkflow });
  const versions = listed.data;
  const current = useQuery({
    ...planQuery(ownerId, versions?.live ?? ""),
    enabled: versions?.live !== undefined,
  });
  const ownCode = useQuery({
    ...sourcePlanQuery(ownerId, deploymentId),
    enabled: !isWorkflow && deploymentId !== "",
  });
  const source = useQuery({ ...liveOfSourceQuery(ownerId), enabled: !isWorkflow });
  const currentCode = useQuery({
    ...sourcePlanQuery(ownerId, source.data?.live),
    enabled: source.data?.live !== undefined,
  });
  const reads = [own, listed, current, ownCode, source, currentCode];
  const failed = reads.filter(({ error }) => error !== null);
  const state = {
    error: failed[0]?.error ?? null,
    isLoading: reads.some((read) => read.isLoading),
    again: () => Promise.all(failed.map(({ refetch }) => refetch())),
  };
  return isWorkflow
    ? {
        had: own.data,
        live: current.data,
        draft: versions?.draft,
        changed: versions?.changed,
        ...state,
      }
    : {
        had: planOfSource(ownCode.data),
        live: planOfSource(currentCode.data),
        draft: undefined,
        changed: undefined,
        ...state,
      };
}
