/**
 * Column of cards: triggers, then steps in their order, with the result of each in the last test.
 */

import { useQuery } from "@tanstack/react-query";
import { Clock, Code2, Globe, Hand, Lock, Pin, Plus, Radio } from "lucide-react";
import { type ReactNode, useEffect, useRef } from "react";
import { useCronWords } from "~/shell/cron-words";
import { useRefusal } from "~/shell/session";
import { shortcuts } from "~/shell/shortcuts";
import { PlainButton } from "~/ui/button";
import { cn } from "~/ui/cn";
import { duration } from "~/ui/format";
import { keepInView } from "~/ui/keep-in-view";
import { Keys } from "~/ui/keys";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Tip } from "~/ui/tip";
import { type StepDraft, type TriggerDraft, triggerWords } from "./model";
import { sourceNamesQuery } from "./queries";
import { useBuilder } from "./use-builder";

const triggerIcons = { http: Globe, timer: Clock, source: Radio } as const;
export const triggerNames = { http: "HTTP request", timer: "Schedule", source: "Source" } as const;

export function Cards({
  open,
  failed,
  onOpen,
  onAdd,
}: {
  open: string;
  /** Key of the step that the server refused. */
  failed: string | undefined;
  onOpen: (open: string) => void;
  onAdd: () => void;
}) {
  const { draft, state } = useBuilder();
  const { data: sources = [] } = useQuery(sourceNamesQuery);
  const refused = useRefusal("deploy");
  const nameOf = (id: string) => sources.find((source) => source.id === id)?.name;
  const AddIcon = refused === undefined ? Plus : Lock;
  const column = useRef<HTMLElement>(null);
  // biome-ignore lint/correctness/useExhaustiveDependencies: another card is what moves the column
  useEffect(() => {
    keepInView(column.current, column.current?.querySelector(".card.is-on"));
  }, [open]);
  return (
    <nav ref={column} className="bld-steps" aria-label="Trigger and steps">
      <ol className="cards">
        {draft.triggers.length === 0 && (
          <Card
            current={open.startsWith("trigger")}
            icon={<Hand className="icon is-sm" aria-hidden="true" />}
            name="No trigger"
            says="runs when you start it"
            onOpen={() => onOpen("trigger")}
          />
        )}
        {draft.triggers.map((trigger, at) => (
          <TriggerCard
            key={at}
            trigger={trigger}
            current={open === `trigger.${at}`}
            wrong={state.refusal?.trigger === at}
            nameOf={nameOf}
            onOpen={() => onOpen(at === 0 ? "trigger" : `trigger.${at}`)}
          />
        ))}
        {draft.steps.map((step) => (
          <StepCard
            key={step.key}
            step={step}
            current={open === step.namespace}
            refused={failed === step.key}
            onOpen={() => onOpen(step.namespace)}
          />
        ))}
      </ol>
      <PlainButton
        className="bld-add"
        aria-keyshortcuts={shortcuts.stepAdd.keys}
        refused={refused}
        onClick={onAdd}
      >
        <AddIcon className="icon is-sm" aria-hidden="true" />
        Add a step
        {refused === undefined && <Keys of={shortcuts.stepAdd.keys} />}
      </PlainButton>
    </nav>
  );
}

function TriggerCard({
  trigger,
  current,
  wrong,
  nameOf,
  onOpen,
}: {
  trigger: TriggerDraft;
  current: boolean;
  wrong: boolean;
  nameOf: (id: string) => string | undefined;
  onOpen: () => void;
}) {
  const Icon = triggerIcons[trigger.kind];
  const words = useCronWords(trigger.kind === "timer" ? trigger.cron : undefined);
  return (
    <Card
      current={current}
      icon={<Icon className="icon is-sm" aria-hidden="true" />}
      name={
        trigger.kind === "source" ? (nameOf(trigger.id) ?? "Source") : triggerNames[trigger.kind]
      }
      says={
        trigger.kind === "timer" && trigger.cron !== undefined
          ? `${words}, ${trigger.zone}`
          : triggerWords(trigger, nameOf)
      }
      state={wrong && <Mark status="failed" says="refused" />}
      onOpen={onOpen}
    />
  );
}

function StepCard({
  step,
  current,
  refused,
  onOpen,
}: {
  step: StepDraft;
  current: boolean;
  refused: boolean;
  onOpen: () => void;
}) {
  const { test } = useBuilder();
  const result = test.ofStep(step.key);
  const { going } = test;
  const name = step.namespace;
  const [invalid] = Object.values(step.invalid ?? {});
  const tests = going?.steps.includes(name) && !going.ended.has(name);
  return (
    <Card
      mono
      stepKey={step.key}
      off={step.disabled}
      dry={result === undefined || result.status === "waiting"}
      current={current}
      icon={
        step.runs.kind === "action" ? (
          <Tile name={step.runs.component} />
        ) : (
          <Code2 className="icon is-sm" aria-hidden="true" />
        )
      }
      name={step.namespace}
      says={step.note ?? (step.runs.kind === "action" ? step.runs.component : "code")}
      state={
        step.disabled ? (
          <span className="small dim">off</span>
        ) : test.pins[step.key] !== undefined ? (
          <span className="small dim row">
            <Pin className="icon is-xs" aria-hidden="true" />
            pinned
          </span>
        ) : refused ? (
          <Mark status="failed" says="refused" />
        ) : invalid !== undefined ? (
          <Mark status="failed" says={`Not saved: ${invalid.label} is not valid. ${invalid.why}`} />
        ) : tests ? (
          going?.running === name ? (
            <Mark status="running" says="running" />
          ) : (
            <Mark status="queued" says="queued in this test" />
          )
        ) : (
          result !== undefined &&
          result.status !== "waiting" && (
            <>
              <Mark
                status={
                  result.status === "failed" ? "failed" : result.changed ? "kept" : "succeeded"
                }
                says={result.changed ? `${result.status}, changed since` : result.status}
              />
              {result.durationMs !== undefined && (
                <span className="num small dim">{duration(result.durationMs)}</span>
              )}
            </>
          )
        )
      }
      onOpen={onOpen}
    />
  );
}

function Mark({
  status,
  says,
}: {
  status: "failed" | "succeeded" | "kept" | "queued" | "running";
  says: string;
}) {
  return (
    <Tip text={says}>
      <span className="row">
        <Glyph status={status} small />
        <span className="sr">{says}</span>
      </span>
    </Tip>
  );
}

function Card({
  stepKey,
  current,
  icon,
  name,
  says,
  state,
  mono = false,
  off = false,
  dry = false,
  onOpen,
}: {
  stepKey?: string;
  current: boolean;
  icon: ReactNode;
  name: string;
  says: string;
  state?: ReactNode;
  mono?: boolean;
  off?: boolean;
  dry?: boolean;
  onOpen: () => void;
}) {
  return (
    <li
      data-step={stepKey}
      className={cn("card", current && "is-on", off && "is-off", dry && "is-dry")}
    >
      <button type="button" aria-current={current ? "step" : undefined} onClick={onOpen}>
        <span className="card-icon">{icon}</span>
        <span className="card-text">
          <span className={cn("cut", mono ? "mono" : "name")}>{name}</span>
          <span className="small dim cut">{says}</span>
        </span>
        <span className="card-state">{state}</span>
      </button>
    </li>
  );
}
