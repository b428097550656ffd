/** What the chosen step sees and gives: the event, and the result of the newest test. */

import { useMemo, useRef } from "react";
import { SkeletonRows } from "~/ui/banner";
import { JsonInspector } from "~/ui/json/json-inspector";
import { PaneHead } from "~/ui/pane";
import { When } from "~/ui/time";
import type { StepDraft } from "./model";
import type { Parts } from "./parts";
import { PinActs } from "./pin-acts";
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
  const pick = useRef(onPick);
  pick.current = onPick;
  // Each key that is typed draws the builder; what can be megabytes is not drawn with it.
  const inspector = useMemo(
    () => (
      <JsonInspector
        key={event.id}
        value={event.value}
        base="steps.trigger.event"
        label="Event"
        onPick={(path) => pick.current(path)}
      />
    ),
    [event.id, event.value],
  );
  const pin = step === undefined ? undefined : test.pins[step.key];
  const of = step?.namespace;
  const pinned = useMemo(
    () =>
      pin === undefined || of === undefined ? undefined : (
        <JsonInspector value={pin} base={`steps.${of}`} label={`Pinned result of ${of}`} />
      ),
    [pin, of],
  );
  const { run, name, steps } = said ?? {};
  const result = useMemo(
    () =>
      run !== undefined &&
      name !== undefined &&
      steps !== undefined &&
      parts.renderResult({
        run,
        step: name,
        steps: steps.map((each) => {
          const { runs, namespace, disabled } = each;
          const code = runs.kind === "code" ? runs.code : "";
          return { name: namespace, code, entry: `${namespace}.mjs`, disabled };
        }),
      }),
    [run, name, steps, parts],
  );
  return (
    <aside className="bld-data" aria-label="Data">
      <div className="bld-event">
        <PaneHead title="Event" hint={test.isReading ? "being read" : event.from} />
        {test.isReading ? <SkeletonRows rows={4} height={20} /> : inspector}
      </div>
      <div className="bld-result">
        <PaneHead
          title="Result"
          hint={
            pin !== undefined ? (
              "pinned: tests take it as it is"
            ) : said === undefined ? undefined : (
              <>
                {said.says}, <When at={said.at} />
              </>
            )
          }
        >
          {step !== undefined && <PinActs step={step} />}
        </PaneHead>
        {pinned !== undefined ? (
          pinned
        ) : said === undefined ? (
          <p className="bld-none dim">
            {step === undefined
              ? "A step that you choose shows here what it gave."
              : "Test the step to see what it gives."}
          </p>
        ) : (
          result
        )}
      </div>
    </aside>
  );
}
