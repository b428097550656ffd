/** The builder: cards on the left, the chosen trigger or step in the middle, its data on the right. */

import { useQuery } from "@tanstack/react-query";
import { ChevronLeft } from "lucide-react";
import { useEffect, useLayoutEffect, useRef, useState } from "react";
import { sentence } from "~/api/errors";
import { useRefusal } from "~/shell/session";
import { useShortcuts } from "~/shell/shortcuts";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { copyText } from "~/ui/copy";
import { dropsPaths } from "~/ui/json/dragged-path";
import type { PickTarget } from "~/ui/json/picker";
import { say } from "~/ui/toast";
import { AddStep } from "./add-step";
import { Cards } from "./cards";
import { DataPane } from "./data-pane";
import { EventBar } from "./event-bar";
import { focusedStep, keepingFocus } from "./focused-card";
import { moved, type StepDraft, type TriggerDraft } from "./model";
import type { Parts } from "./parts";
import { type PastedStep, withTriggers } from "./paste";
import { referenceReader, withNames } from "./references";
import { newKey } from "./state";
import { StepEditor } from "./step-editor";
import { freeName } from "./step-names";
import type { TestEvent } from "./test-event";
import { TriggerEditor } from "./trigger-editor";
import { useBuilder } from "./use-builder";
import { useClipboard } from "./use-clipboard";
import { useNarrowPanel } from "./use-narrow-panel";
import { eventOfRunQuery, failedStep, type TestOf } from "./use-test";

/** What is open: `trigger`, `trigger.1`, …, or the name of a step. */
export type Open = string;

const triggerAt = (open: Open): number | undefined => {
  const found = /^trigger(?:\.(\d+))?$/.exec(open);
  return found === null ? undefined : Number(found[1] ?? 0);
};

/** What is picked goes where the person was last: into a field as an expression, into code as it is. */
function usePick(step: string) {
  const [target, setTarget] = useState<{ of: string; at: PickTarget }>();
  const at = target?.of === step ? target.at : undefined;
  const latest = useRef(at);
  latest.current = at;
  const aim = (at: PickTarget) => {
    latest.current = at;
    setTarget({ of: step, at });
  };
  return {
    into: at?.label,
    aim,
    aimAtCode(field: HTMLElement) {
      aim({
        label: "the code",
        put(path) {
          field.focus();
          document.execCommand("insertText", false, path);
        },
      });
    },
    async pick(path: string) {
      const { current } = latest;
      if (current !== undefined) current.put(path);
      else if (await copyText(path)) say({ title: "Path copied" });
    },
  };
}

/** The event of a run that the address names is the one to test with, and the step that failed the one to mend. Whether it is being read. */
function useEventOfRun(run: string | undefined, onFailed: (step: string) => void): boolean {
  const { test } = useBuilder();
  const { data, error, isLoading } = useQuery({
    ...eventOfRunQuery(run ?? ""),
    enabled: run !== undefined,
    retry: false,
  });
  const take = useRef<(event: TestEvent) => void>(() => {});
  take.current = (event) => {
    test.choose(event);
    const failed = event.run && failedStep(event.run);
    if (failed !== undefined) onFailed(failed);
  };
  // Before the step is drawn with another event.
  useLayoutEffect(() => {
    if (data !== undefined) take.current(data);
  }, [data]);
  useEffect(() => {
    if (error !== null)
      say({ title: "The event of the run could not be loaded", about: sentence(error) });
  }, [error]);
  return isLoading;
}

export function WorkflowBuilder({
  open: asked,
  run,
  line,
  onOpen,
  parts,
}: {
  open: Open | undefined;
  /** Run whose event is tested with. */
  run: string | undefined;
  /** Line of the step's code that is asked for. */
  line: number | undefined;
  onOpen: (open: Open) => void;
  parts: Parts;
}) {
  const builder = useBuilder();
  const { draft } = builder;
  const refused = useRefusal("deploy");
  const [adds, setAdds] = useState<{ after: number; first?: string } | undefined>(undefined);
  const data = useRef<HTMLElement>(null);
  const narrow = useNarrowPanel(asked, run);
  const failed = builder.state.refusal?.step;
  const open = asked ?? draft.steps[0]?.namespace ?? "trigger";
  const trigger = triggerAt(open);
  const at = draft.steps.findIndex(({ namespace }) => namespace === open);
  const step = draft.steps[at];
  // Fields that are made anew are others.
  const { aim, aimAtCode, into, pick } = usePick(`${step?.key} ${builder.state.revision}`);
  const openData = (target: PickTarget) => {
    aim(target);
    const tree = data.current?.querySelector<HTMLElement>("[role=tree]");
    tree?.scrollIntoView({ block: "center" });
    tree?.focus({ preventScroll: true });
  };

  /** `step`: a new one, or one to be copied with its note and its secrets. */
  const add = (
    step: Pick<StepDraft, "runs" | "props"> & Partial<StepDraft>,
    wish: string,
    after: number,
  ) => {
    const namespace = freeName(draft.steps, wish);
    const made = { disabled: false, ...step, key: newKey(), namespace, savedAs: undefined };
    const steps = draft.steps.toSpliced(after + 1, 0, made);
    keepingFocus(() => {
      builder.edit({ ...draft, steps }, `add ${namespace}`);
      onOpen(namespace);
    }, made.key);
  };
  const chosen = () => focusedStep(draft.steps, step);
  /** Place of the step that keys act on; the last one's, where it is none. */
  const place = () => {
    const of = chosen();
    return of === undefined ? draft.steps.length - 1 : draft.steps.indexOf(of);
  };
  const paste = async (pasted: readonly PastedStep[], triggers: readonly TriggerDraft[]) => {
    const of = chosen()?.key;
    const read = await referenceReader();
    // Another paste may have come in between.
    const draft = builder.newest();
    const steps = [...draft.steps];
    const names = new Map<string, string>();
    const behind = steps.findIndex(({ key }) => key === of);
    let to = behind < 0 ? steps.length : behind + 1;
    let last = "";
    for (const { wish, ...step } of pasted) {
      last = freeName(steps, wish);
      const made = { ...step, key: newKey(), namespace: last, savedAs: undefined };
      // Steps that were pasted together read one another, and not those here that had their names.
      steps.splice(to, 0, withNames(read, made, names));
      if (last !== wish) names.set(wish, last);
      to += 1;
    }
    const says = pasted.length === 1 ? `paste ${last}` : `paste ${pasted.length} steps`;
    keepingFocus(
      () => {
        builder.edit({ triggers: withTriggers(draft.triggers, triggers), steps }, says);
        onOpen(last);
      },
      steps[to - 1]?.key,
    );
  };
  const address = (first: string) => setAdds({ after: place(), first });
  useClipboard(
    chosen,
    refused === undefined ? ({ steps, triggers = [] }) => void paste(steps, triggers) : undefined,
    refused === undefined ? address : undefined,
  );
  const move = (from: number, by: -1 | 1) => {
    const step = draft.steps[from];
    const steps = moved(draft.steps, from, by);
    if (step === undefined || steps.every((each, index) => each === draft.steps[index])) return;
    keepingFocus(() => builder.edit({ ...draft, steps }, `move ${step.namespace}`), step.key);
  };
  const remove = (of: StepDraft) => {
    const from = draft.steps.indexOf(of);
    const next = draft.steps[from + 1] ?? draft.steps[from - 1];
    keepingFocus(() => {
      if (of === step) gone();
      const steps = draft.steps.filter(({ key }) => key !== of.key);
      builder.edit({ ...draft, steps }, `remove ${of.namespace}`);
    }, next?.key);
  };
  const gone = () =>
    onOpen(draft.steps[at + 1]?.namespace ?? draft.steps[at - 1]?.namespace ?? "trigger");
  const edits = (change: (step: StepDraft, at: number) => void) =>
    refused !== undefined
      ? undefined
      : () => {
          const of = chosen();
          if (of !== undefined) change(of, draft.steps.indexOf(of));
        };
  const test = (of: TestOf) => {
    const { run, isReading } = builder.test;
    if (refused === undefined && !run.isPending && !isReading) run.mutate(of);
  };
  const isReading = useEventOfRun(run, (step) => {
    if (asked === undefined && draft.steps.some(({ namespace }) => namespace === step))
      onOpen(step);
  });
  useShortcuts({
    stepAdd: refused === undefined ? () => setAdds({ after: place() }) : undefined,
    testStep: () => {
      const of = chosen();
      if (of === undefined) test({ kind: "all" });
      else test({ kind: builder.test.standsAlone(of.key) ? "alone" : "to", key: of.key });
    },
    testTo: () => {
      const of = chosen();
      test(of === undefined ? { kind: "all" } : { kind: "to", key: of.key });
    },
    testAll: () => test({ kind: "all" }),
    duplicate: edits((of, from) => add(of, of.namespace, from)),
    removeStep: edits(remove),
    moveUp: edits((_, from) => move(from, -1)),
    moveDown: edits((_, from) => move(from, 1)),
  });

  return (
    <>
      <EventBar onTest={() => test({ kind: "all" })} />
      <div className={cn("bld", !narrow.listed && "is-chosen")}>
        <Cards
          open={trigger === undefined ? open : `trigger.${trigger}`}
          failed={failed}
          onOpen={(next) => {
            narrow.list(false);
            onOpen(next);
          }}
          onAdd={() => setAdds({ after: draft.steps.length - 1 })}
        />
        <section
          ref={narrow.main}
          tabIndex={-1}
          className={cn("bld-main", isReading && line === undefined && "is-reading")}
          onFocus={({ target }) => {
            if (target.isContentEditable && target.closest(".bld-code") !== null) aimAtCode(target);
          }}
          {...dropsPaths((path) => void pick(path))}
          aria-label={step === undefined ? "Trigger" : `Step ${step.namespace}`}
        >
          <div ref={narrow.back} className="bld-back">
            <Button
              size="sm"
              look="quiet"
              icon={ChevronLeft}
              aria-label="Back to all steps"
              onClick={() => narrow.list(true)}
            >
              All steps
            </Button>
          </div>
          {step !== undefined ? (
            <StepEditor
              key={`${step.key} ${line ?? ""}`}
              step={step}
              line={line}
              at={at}
              parts={parts}
              onTest={(kind) => test({ kind, key: step.key })}
              onMove={(by) => move(at, by)}
              onRename={onOpen}
              onGone={gone}
              picker={refused === undefined ? { aim, open: openData } : undefined}
              onCopy={() => add(step, step.namespace, at)}
            />
          ) : (
            <TriggerEditor key={trigger ?? 0} at={trigger ?? 0} parts={parts} onOpen={onOpen} />
          )}
        </section>
        <DataPane
          ref={data}
          step={step}
          parts={parts}
          into={into}
          onPick={(path) => void pick(path)}
        />
      </div>
      {adds !== undefined && (
        <AddStep
          first={adds.first}
          onClose={() => setAdds(undefined)}
          onAdd={(made, wish) => {
            setAdds(undefined);
            add(made, wish, adds.after);
          }}
        />
      )}
    </>
  );
}
