/** State of the builder: the draft with its edits, the record that it began from, and what the server refused. Pure. */

import { ApiError, sentence } from "~/api/errors";
import { problemsOf } from "~/api/props";
import type { Workflow } from "~/api/schema";
import { begun, edited, type History, redone, replaced, undone } from "./history";
import {
  type Draft,
  draftOf,
  programOf,
  refusedPlace,
  type SavedStep,
  type StepDraft,
  savedStepsOf,
} from "./model";

export type Refusal = {
  message: string;
  step?: string;
  trigger?: number;
  line?: number;
  /** What is wrong with each prop of the step. */
  problems: Readonly<Record<string, string>>;
};

export type State = {
  /** As the server has it. */
  base: Workflow;
  /** The same as a draft: while it is the present one, all is saved. */
  saved: Draft;
  /** Names that the server has for steps, by the key of each. */
  names: Readonly<Record<string, string>>;
  history: History<Draft>;
  /** Grows when values change by other means than the form that shows them. */
  revision: number;
  refusal: Refusal | undefined;
};

export type Act =
  | { type: "edit"; draft: Draft; says: string; at?: string | undefined }
  | { type: "undo" }
  | { type: "redo" }
  | { type: "saved"; record: Workflow; sent: Draft }
  | { type: "read"; record: Workflow }
  /** The same, and what is typed can be had again by an undo. */
  | { type: "theirs"; record: Workflow }
  /** The server's record, whose draft has the identities of here, and both drafts brought together. */
  | { type: "both"; record: Workflow; theirs: Draft; draft: Draft }
  /** An unchanged draft becomes what was saved elsewhere, step by step the same where it has the name. */
  | { type: "follow"; record: Workflow }
  /** The server's content became other than it was; what is typed stays. */
  | { type: "rebase"; record: Workflow }
  | { type: "refused"; error: Error; sent: Draft }
  | { type: "undoAll" }
  | { type: "dismiss" };

export function begin(base: Workflow, kept: Draft | undefined): State {
  const saved = draftOf(base);
  const history = begun(saved);
  return {
    base,
    saved,
    names: namesOf(saved),
    history: kept === undefined ? history : edited(history, kept, "restore unsaved changes"),
    revision: 0,
    refusal: undefined,
  };
}

function namesOf(draft: Draft): Record<string, string> {
  return Object.fromEntries(draft.steps.map(({ key, namespace }) => [key, namespace]));
}

/**
 * The saved draft with what fields hold that was no valid value and so was not sent. Of a prop that
 * the saved code has no more, nothing is left to be mended.
 */
function withInvalid(saved: Draft, sent: Draft, record: Workflow): Draft {
  const known = savedStepsOf(record.steps);
  const steps = saved.steps.map((step) => {
    const { invalid = {}, form } = sent.steps.find(({ key }) => key === step.key) ?? {};
    const defs = known.find(({ namespace }) => namespace === step.namespace)?.defs ?? [];
    const left = Object.entries(invalid).filter(
      ([name]) => form !== undefined || defs.some((def) => def.name === name),
    );
    return left.length === 0 ? step : { ...step, invalid: Object.fromEntries(left) };
  });
  // The saved draft itself says that all is saved.
  return steps.every((step, at) => step === saved.steps[at]) ? saved : { ...saved, steps };
}

/** The record as a draft whose steps are those that were sent. */
function rekeyed(record: Workflow, sent: Draft): Draft {
  const draft = draftOf(record);
  const keys = new Map(sent.steps.map(({ key, namespace }) => [namespace, key]));
  return {
    ...draft,
    steps: draft.steps.map((step) => ({ ...step, key: keys.get(step.namespace) ?? step.key })),
  };
}

export function reduced(state: State, act: Act): State {
  const { history } = state;
  switch (act.type) {
    case "edit":
      return {
        ...state,
        history: edited(history, act.draft, act.says, act.at),
        refusal: undefined,
      };
    case "undo":
      return {
        ...state,
        history: undone(history),
        revision: state.revision + 1,
        refusal: undefined,
      };
    case "redo":
      return {
        ...state,
        history: redone(history),
        revision: state.revision + 1,
        refusal: undefined,
      };
    case "saved": {
      const saved = rekeyed(act.record, act.sent);
      const isAll = history.now === act.sent;
      const hadSecrets = act.sent.steps.some(({ secrets = [] }) => secrets.length > 0);
      return {
        base: act.record,
        saved,
        names: namesOf(saved),
        history: isAll ? replaced(history, withInvalid(saved, act.sent, act.record)) : history,
        revision: isAll && hadSecrets ? state.revision + 1 : state.revision,
        refusal: undefined,
      };
    }
    case "read":
      return { ...begin(act.record, undefined), revision: state.revision + 1 };
    case "theirs": {
      const next = begin(act.record, undefined);
      return {
        ...next,
        history: edited(history, next.saved, "use the other draft"),
        revision: state.revision + 1,
      };
    }
    case "follow": {
      const saved = rekeyed(act.record, history.now);
      return {
        base: act.record,
        saved,
        names: namesOf(saved),
        // An undo of an earlier edit would take back, without a word, what others saved since.
        history:
          history.past.length === 0
            ? begun(saved)
            : edited(history, saved, "use the draft saved elsewhere", "elsewhere"),
        revision: state.revision + 1,
        refusal: undefined,
      };
    }
    case "both":
      return {
        base: act.record,
        saved: act.theirs,
        names: namesOf(act.theirs),
        history: edited(history, act.draft, "merge both drafts"),
        revision: state.revision + 1,
        refusal: undefined,
      };
    case "rebase": {
      const saved = rekeyed(act.record, history.now);
      const isSaved = history.now === state.saved;
      return {
        ...state,
        base: act.record,
        saved,
        names: namesOf(saved),
        history: isSaved ? replaced(history, saved) : history,
      };
    }
    case "refused":
      return { ...state, refusal: refusalOf(act.error, act.sent) };
    case "undoAll":
      return { ...state, history: begun(state.saved), refusal: undefined };
    case "dismiss":
      return { ...state, refusal: undefined };
  }
}

function refusalOf(error: Error, sent: Draft): Refusal {
  const details = error instanceof ApiError ? error.details : {};
  return {
    message: sentence(error),
    problems: problemsOf(details),
    ...refusedPlace(details, error.message, sent),
  };
}

/** The present draft, with the names that the server has for its steps. */
export function toSend(state: State): Draft {
  const { now } = state.history;
  return {
    ...now,
    steps: now.steps.map((step) => ({ ...step, savedAs: state.names[step.key] })),
  };
}

export function savedOf(state: State, step: StepDraft): SavedStep | undefined {
  const name = state.names[step.key];
  return savedStepsOf(state.base.steps).find(({ namespace }) => namespace === name);
}

/** What a step does, as text: results of a test are of the step as it was. */
export function stepText({ namespace, runs, props, disabled }: StepDraft): string {
  return JSON.stringify([namespace, programOf({ runs }), props, disabled]);
}

let last = 0;

/** A key for a step that is new. */
export function newKey(): string {
  last += 1;
  return `new-${Date.now().toString(36)}-${last}`;
}
