import "./run-page.css";
import { useQuery } from "@tanstack/react-query";
import { sentence } from "~/api/errors";
import { ErrorPanel } from "./error-panel";
import { planQuery, runQuery, sourcePlanQuery } from "./queries";

/** The error of a run alone, for lists of errors. */
export function RunErrorPeek({ id }: { id: string }) {
  const { data: run, error } = useQuery({ ...runQuery(id), retry: false });
  const isWorkflow = run?.isWorkflow ?? false;
  const { data: plan } = useQuery({
    ...planQuery(run?.ownerId ?? "", run?.deploymentId ?? ""),
    enabled: isWorkflow && run?.deploymentId !== undefined,
  });
  const { data: source } = useQuery({
    ...sourcePlanQuery(run?.ownerId ?? ""),
    enabled: run !== undefined && !isWorkflow,
  });
  if (error !== null) {
    return <p className="step-note">Its newest run is not kept any more. {sentence(error)}</p>;
  }
  if (run?.error === undefined) return null;
  const step = isWorkflow ? plan?.steps.find(({ name }) => name === run.error?.step) : source;
  return <ErrorPanel run={run} error={run.error} step={step} />;
}
