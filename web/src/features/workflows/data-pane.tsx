/** What the chosen step sees and gives: the event, and the result of the newest test. */

import { JsonInspector } from "~/ui/json/json-inspector";
import { PaneHead } from "~/ui/pane";
import { When } from "~/ui/time";
import type { StepDraft } from "./model";
import type { Parts } from "./parts";
import { useBuilder } from "./use-builder";

export function DataPane({
  step,
  parts,
  onPick,
}: {
  step: StepDraft | undefined;
  parts: Parts;
  /** Called with a path that goes where the person types. */
  onPick: (path: string) => void;
}) {
  const { test } = useBuilder();
  const { event } = test;
  const said = step === undefined ? undefined : test.said(step.key);
  return (
    <aside className="bld-data" aria-label="Data">
      <div className="bld-event">
        <PaneHead title="Event" hint={event.from} />
        <JsonInspector
          key={event.id}
          value={event.value}
          base="steps.trigger.event"
          label="Event"
          onPick={onPick}
        />
      </div>
      <div className="bld-result">
        <PaneHead
          title="Result"
          hint={
            said === undefined ? undefined : (
              <>
                {said.says}, <When at={said.at} />
              </>
            )
          }
        />
        {said === undefined ? (
          <p className="bld-none dim">
            {step === undefined
              ? "A step that you choose shows here what it gave."
              : "Test the step to see what it gives."}
          </p>
        ) : (
          parts.renderResult({
            run: said.run,
            step: said.name,
            steps: said.steps.map((each) => {
              const { runs, namespace, disabled } = each;
              const code = runs.kind === "code" ? runs.code : "";
              return { name: namespace, code, entry: `${namespace}.mjs`, disabled };
            }),
          })
        )}
      </div>
    </aside>
  );
}
