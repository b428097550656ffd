/** Result of a tested step, for the builder: the tabs of a run's page without the code. */

import "./run-page.css";
import { useState } from "react";
import type { RunDetail } from "~/api/runs";
import { StepPanel } from "./step-panel";
import type { Tab } from "./tabs";

export function StepResult({
  run,
  step,
  steps,
}: {
  run: RunDetail;
  step: string;
  steps: readonly { name: string; code: string; entry: string; disabled: boolean }[];
}) {
  const [tab, setTab] = useState<Tab | undefined>(undefined);
  return (
    <StepPanel
      run={run}
      stepKey={step}
      plan={steps.map((each) => ({
        ...each,
        files: { [each.entry]: each.code },
        key: undefined,
        props: {},
        apps: [],
      }))}
      tab={tab}
      onTab={setTab}
      bare
    />
  );
}
