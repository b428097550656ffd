/**
 * Pane of the data of the chosen step: the event, the results of the steps before it, and its own
 * result.
 */

import { type Ref, useMemo, useRef, useState } from "react";
import { SkeletonRows } from "~/ui/banner";
import { JsonInspector } from "~/ui/json/json-inspector";
import { pathText } from "~/ui/json/model";
import { Log } from "~/ui/log";
import { PaneHead } from "~/ui/pane";
import { Select } from "~/ui/select";
import { When } from "~/ui/time";
import type { StepDraft } from "./model";
import type { Parts } from "./parts";
import { PinActs } from "./pin-acts";
import { useBuilder } from "./use-builder";

/** Choice of the event among the data; steps are named by their keys. */
const EVENT = "event";

export function DataPane({
  ref,
  step,
  parts,
  into,
  onPick,
}: {
  ref: Ref<HTMLElement>;
  step: StepDraft | undefined;
  parts: Parts;
  /** Name of the field that takes what is picked. */
  into: string | undefined;
  /** Called with a path that goes where the person types. */
  onPick: (path: string) => void;
}) {
  const { test, draft } = useBuilder();
  const { event } = test;
  const [shown, setShown] = useState(EVENT);
  const at = draft.steps.findIndex(({ key }) => key === step?.key);
  const before = draft.steps
    .slice(0, Math.max(0, at))
    .filter(({ key }) => test.exportsOf(key) !== undefined);
  const earlier = before.find(({ key }) => key === shown);
  const results = earlier && test.exportsOf(earlier.key);
  const name = earlier?.namespace;
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
        pickInto={into}
      />
    ),
    [event.id, event.value, into],
  );
  const resultOfEarlier = useMemo(
    () =>
      name !== undefined && (
        <JsonInspector
          key={name}
          value={results}
          base={pathText("steps", [name])}
          label={`Result of ${name}`}
          onPick={(path) => pick.current(path)}
          pickInto={into}
        />
      ),
    [name, results, into],
  );
  const { going } = test;
  const isTested =
    going !== undefined &&
    step !== undefined &&
    going.steps.includes(step.namespace) &&
    !going.ended.has(step.namespace);
  const isRunning = going?.running === step?.namespace;
  const pin = step === undefined ? undefined : test.pins[step.key];
  const of = step?.namespace;
  const pinned = useMemo(
    () =>
      pin === undefined || of === undefined ? undefined : (
        <JsonInspector value={pin} base={`steps.${of}`} label={`Pinned result of ${of}`} />
      ),
    [pin, of],
  );
  const { run, name: tested, steps } = said ?? {};
  const result = useMemo(
    () =>
      run !== undefined &&
      tested !== undefined &&
      steps !== undefined &&
      parts.renderResult({
        run,
        step: tested,
        steps: steps.map((each) => {
          const { runs, namespace, disabled } = each;
          const code = runs.kind === "code" ? runs.code : "";
          return { name: namespace, code, entry: `${namespace}.mjs`, disabled };
        }),
      }),
    [run, tested, steps, parts],
  );
  return (
    <aside ref={ref} className="bld-data" aria-label="Data">
      <div className="bld-event">
        <PaneHead
          title={earlier === undefined ? "Event" : "Earlier result"}
          hint={earlier !== undefined ? undefined : test.isReading ? "loading" : event.from}
        >
          {before.length > 0 && (
            <Select
              small
              aria-label="Data shown"
              value={earlier?.key ?? EVENT}
              onChange={setShown}
              choices={[
                { value: EVENT, label: "Event" },
                ...before.map(({ key, namespace }) => ({ value: key, label: namespace })),
              ]}
            />
          )}
        </PaneHead>
        {earlier !== undefined ? (
          resultOfEarlier
        ) : test.isReading ? (
          <SkeletonRows rows={4} height={20} />
        ) : (
          inspector
        )}
      </div>
      <div className="bld-result">
        <PaneHead
          title="Result"
          hint={
            isTested ? (
              isRunning ? (
                "running"
              ) : (
                "testing"
              )
            ) : pin !== undefined ? (
              "pinned: tests use it instead of running"
            ) : said === undefined ? undefined : (
              <>
                {said.says}, <When at={said.at} />
              </>
            )
          }
        >
          {step !== undefined && <PinActs step={step} />}
        </PaneHead>
        {isTested ? (
          <Log
            lines={going.lines.filter((line) => line.step === of)}
            label={`Logs of ${of}`}
            none={isRunning ? "Running. No log lines yet." : "Queued in this test."}
          />
        ) : pinned !== undefined ? (
          pinned
        ) : said === undefined ? (
          <p className="bld-none dim">
            {step === undefined
              ? "Select a step to see its result."
              : "Test the step to see its result."}
          </p>
        ) : (
          result
        )}
      </div>
    </aside>
  );
}
