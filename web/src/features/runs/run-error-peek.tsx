/** Error of a run alone, for lists of errors. */

import "./run-page.css";
import { useQuery } from "@tanstack/react-query";
import { sentence } from "~/api/errors";
import { SkeletonRows } from "~/ui/banner";
import { ErrorPanel } from "./error-panel";
import { planQuery, runQuery, sourcePlanQuery } from "./queries";

/** The error of a run alone, for lists of errors. */
export function RunErrorPeek({ id }: { id: string }) {
  const { data: run, error, isPending } = useQuery({ ...runQuery(id), retry: false });
  const isWorkflow = run?.isWorkflow ?? false;
  const planned = useQuery({
    ...planQuery(run?.ownerId ?? "", run?.deploymentId ?? ""),
    enabled: isWorkflow && run?.deploymentId !== undefined,
  });
  const sourced = useQuery({
    ...sourcePlanQuery(run?.ownerId ?? "", run?.deploymentId),
    enabled: run !== undefined && !isWorkflow,
  });
  if (error !== null) {
    return <p className="step-note">Its newest run was pruned. {sentence(error)}</p>;
  }
  if (isPending || planned.isLoading || sourced.isLoading) return <SkeletonRows rows={6} />;
  if (run?.error === undefined) return null;
  const step = isWorkflow
    ? planned.data?.steps.find(({ name }) => name === run.error?.step)
    : sourced.data?.step;
  return <ErrorPanel run={run} error={run.error} step={step} />;
}
