/** What the chosen step sees and gives: the event, and the result of the newest test. */

import { JsonInspector } from "~/ui/json/json-inspector";
import { PaneHead } from "~/ui/pane";
import { When } from "~/ui/time";
import type { StepDraft } from "./model";
import { savedStepsOf } from "./model";
import type { Parts } from "./parts";
import { useBuilder } from "./use-builder";

export function DataPane({ step, parts }: { step: StepDraft | undefined; parts: Parts }) {
  const { state, test } = useBuilder();
  const { tested, event } = test;
  const name = tested?.of.steps.find(({ key }) => key === step?.key)?.namespace;
  const saved = savedStepsOf(state.base.steps);
  return (
    <aside className="bld-data" aria-label="Data">
      <div className="bld-event">
        <PaneHead title="Event" hint={event.from} />
        <JsonInspector
          key={event.id}
          value={event.value}
          base="steps.trigger.event"
          label="Event"
        />
      </div>
      <div className="bld-result">
        <PaneHead
          title="Result"
          hint={
            tested === undefined ? undefined : (
              <>
                {tested.upTo === undefined ? "test of all steps" : `test up to ${tested.upTo}`},{" "}
                <When at={tested.at} />
              </>
            )
          }
        />
        {tested === undefined || (step !== undefined && name === undefined) ? (
          <p className="bld-none dim">
            {tested === undefined
              ? "Test the step to see what it gives."
              : "The last test did not have this step."}
          </p>
        ) : (
          parts.renderResult({
            run: tested.run,
            step: name ?? "$trigger",
            steps: tested.of.steps.map((each) => {
              const known = saved.find(({ namespace }) => namespace === each.savedAs);
              return {
                name: each.namespace,
                code: each.runs.kind === "code" ? each.runs.code : (known?.code ?? ""),
                entry: known?.entry ?? `${each.namespace}.mjs`,
                disabled: each.disabled,
              };
            }),
          })
        )}
      </div>
    </aside>
  );
}
