/** Log page of a workflow: output of its steps in all runs. */

import { OwnerLog } from "~/shell/owner-log";
import { useBuilder } from "./use-builder";
import "./workflow.css";

/** What the steps of the workflow logged, in all runs. */
export function WorkflowLog() {
  const { base } = useBuilder().state;
  const steps = base.steps.flatMap(({ namespace }) =>
    typeof namespace === "string" ? [namespace] : [],
  );
  return (
    <div className="bld-log">
      <OwnerLog owner={base.id} isWorkflow steps={steps} live />
    </div>
  );
}
