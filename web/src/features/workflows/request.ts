/** Requests that save a draft, and what an undo brings back of parts that the server has no more. Pure. */

import { isComponentId } from "~/api/component-id";
import { asJson, asJsonObject, objectOf } from "~/api/json";
import type { components } from "~/api/schema";
import { stable } from "~/ui/changes";
import {
  type Content,
  type Draft,
  filesOf,
  noteOf,
  type SavedStep,
  type StepDraft,
  savedStepsOf,
  type TriggerDraft,
} from "./model";

export type TriggerRequest = components["schemas"]["TriggerRequest"];
export type StepRequest = components["schemas"]["StepRequest"];

/**
 * Body of the request that saves the draft over a record. A step whose code did not change names what was built of it. What an undo brought back
 * names what the record or one of the deployed versions has of it: the id of a trigger, the secrets of a step.
 */
export function requestOf(
  draft: Draft,
  record: Content,
  deployed: readonly Content[] = [],
): { triggers: TriggerRequest[]; steps: StepRequest[] } {
  const saved = savedStepsOf(record.steps);
  const known = [record, ...deployed];
  const ids = known.flatMap(({ triggers }) => triggers.map((trigger) => objectOf(trigger).id));
  const idOf = ({ id }: { id: string | undefined }) =>
    id !== undefined && ids.includes(id) ? { id } : {};
  return {
    triggers: draft.triggers.map((trigger) => triggerRequest(trigger, idOf)),
    steps: draft.steps.map((step) => {
      const before = saved.find(({ namespace }) => namespace === step.savedAs);
      const keep =
        before?.namespace ?? (known.some((each) => hasSealed(each, step)) && step.sealed?.of);
      return {
        namespace: step.namespace,
        ...runsOf(step, before),
        props: asJsonObject(step.props),
        ...(step.form === undefined ? {} : { dynamic_props_id: step.form }),
        ...(step.disabled ? { disabled: true } : {}),
        ...noteOf(step.note),
        ...(keep ? { keep_secrets_of: keep } : {}),
      };
    }),
  };
}

function hasSealed({ steps }: Content, { sealed }: StepDraft): boolean {
  const of = savedStepsOf(steps).find(({ namespace }) => namespace === sealed?.of);
  return of !== undefined && sealed?.names.every((name) => of.sealed.includes(name)) === true;
}

/** Whether a draft has parts with an address or secrets that its record does not have: an undo brought them back. */
export function isBroughtBack(draft: Draft, record: Content): boolean {
  const ids = record.triggers.map((trigger) => objectOf(trigger).id);
  return (
    draft.triggers.some(({ id }) => id !== undefined && !ids.includes(id)) ||
    draft.steps.some((step) => step.sealed !== undefined && !hasSealed(record, step))
  );
}

/** What a draft had and the record that it was saved as has not, as sentences. */
export function lostOf(sent: Draft, record: Content): string[] {
  const saved = savedStepsOf(record.steps);
  const isNew = ({ kind, id }: TriggerDraft, at: number) =>
    kind === "http" && id !== undefined && objectOf(record.triggers[at]).id !== id;
  return [
    ...(sent.triggers.some(isNew) ? ["The HTTP trigger has a new URL."] : []),
    ...sent.steps.flatMap(({ namespace, props, sealed }) => {
      const now = saved.find((step) => step.namespace === namespace);
      const lost = (sealed?.names ?? []).filter(
        (name) =>
          !(name in props) &&
          now?.sealed.includes(name) === false &&
          now.defs.some((def) => def.name === name),
      );
      return lost.length === 0 ? [] : [`${namespace} is missing its secrets: ${lost.join(", ")}.`];
    }),
  ];
}

function triggerRequest(
  trigger: TriggerDraft,
  idOf: (trigger: { id: string | undefined }) => { id?: string },
): TriggerRequest {
  switch (trigger.kind) {
    case "http":
      return { type: "http", ...idOf(trigger), auth: asJson(trigger.auth) };
    case "timer":
      return {
        type: "timer",
        ...idOf(trigger),
        props: asJsonObject(
          trigger.cron === undefined
            ? { intervalSeconds: trigger.seconds }
            : { cron: trigger.cron, timezone: trigger.zone },
        ),
      };
    case "source":
      return { type: "source", id: trigger.id, event_name: trigger.eventName };
  }
}

function runsOf({ namespace, runs }: StepDraft, known: SavedStep | undefined): StepRequest {
  const componentId = known?.componentId;
  const of = known === undefined ? undefined : filesOf(known).files;
  // A draft that an earlier version of the page kept has the code of its entry alone.
  const files = runs.kind === "code" ? (runs.files ?? of) : undefined;
  // What was built has the name of its file, which is the step's where no other is given.
  const isNamed = files !== undefined || known?.namespace === namespace;
  const unchanged =
    runs.kind === "code"
      ? known?.isAction === false &&
        isNamed &&
        runs.code === known.code &&
        stable(files) === stable(of)
      : known?.isAction === true;
  if (unchanged && componentId !== undefined) return { component_id: componentId };
  if (runs.kind === "action") {
    return isComponentId(runs.component)
      ? { component_id: runs.component }
      : { component_key: runs.component };
  }
  const isOne = Object.keys(files?.others ?? {}).length === 0;
  return {
    code: runs.code,
    ...(files === undefined || isOne ? {} : { code_files: files.others }),
    ...(files === undefined ? {} : { code_entry: files.entry }),
  };
}
