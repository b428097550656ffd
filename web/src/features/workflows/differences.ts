/** Differences between two versions of a workflow: in words, and by their values. Pure. */

import { objectOf, textOf } from "~/api/json";
import { type Change, changesOf, SECRET, stable } from "~/ui/changes";
import {
  type Content,
  type Draft,
  draftOf,
  type SavedStep,
  type StepDraft,
  savedStepsOf,
  type TriggerDraft,
  triggerWords,
} from "./model";

/** One thing that differs, in words; `step` is the name of the step that it is about. */
export type Difference = { step?: string; kind: "added" | "removed" | "changed"; says: string };

/** How the draft differs from what is live. */
export function differences(
  draft: Content & { readonly settings: unknown },
  live: Partial<Content> & Pick<Content, "steps"> & { readonly settings?: unknown },
): Difference[] {
  const found: Difference[] = [];
  const before = draftOf({ triggers: live.triggers ?? [], steps: live.steps });
  const after = draftOf(draft);
  const [savedBefore, savedAfter] = [savedStepsOf(live.steps), savedStepsOf(draft.steps)];
  if (stable(before.triggers) !== stable(after.triggers)) {
    found.push({ kind: "changed", says: triggersSay(before.triggers, after.triggers) });
  }
  for (const step of after.steps) {
    const { namespace } = step;
    const was = before.steps.find((each) => each.namespace === namespace);
    if (was === undefined) {
      found.push({ step: namespace, kind: "added", says: "added" });
      continue;
    }
    const [one, other] = [savedBefore, savedAfter].map((all) =>
      all.find((each) => each.namespace === namespace),
    );
    const isSameCode = one?.code === other?.code && one?.version === other?.version;
    const names = changesOf(valuesOf(was, one), valuesOf(step, other)).map(({ name }) => name);
    const parts = [
      ...(isSameCode ? [] : [codeSays(one, other)]),
      ...(names.length === 0 ? [] : [valuesSay(names)]),
      ...(was.note === step.note ? [] : [noteSays(was.note, step.note)]),
      ...(was.disabled === step.disabled ? [] : [step.disabled ? "turned off" : "turned on"]),
    ];
    if (parts.length > 0) {
      found.push({ step: namespace, kind: "changed", says: parts.join(", ") });
    }
  }
  for (const { namespace } of before.steps) {
    if (!after.steps.some((step) => step.namespace === namespace)) {
      found.push({ step: namespace, kind: "removed", says: "removed" });
    }
  }
  if (orderOf(before.steps, after.steps) !== orderOf(after.steps, before.steps)) {
    found.push({ kind: "changed", says: "Steps in another order" });
  }
  if (live.settings !== undefined && stable(live.settings) !== stable(draft.settings)) {
    const names = changesOf(objectOf(live.settings), objectOf(draft.settings)).map(({ name }) =>
      name.replaceAll("_", " "),
    );
    found.push({ kind: "changed", says: `Settings changed: ${listed(names)}` });
  }
  return found;
}

/** Names of those among the steps that the other version has too, in their order. */
function orderOf(steps: readonly StepDraft[], others: readonly StepDraft[]): string {
  const names = steps.map(({ namespace }) => namespace);
  return names.filter((name) => others.some(({ namespace }) => namespace === name)).join();
}

/** More names than these are counted. */
const NAMED_MAX = 4;

function listed(names: readonly string[]): string {
  const [last = "", ...others] = [...names].reverse();
  return others.length === 0 ? last : `${others.reverse().join(", ")} and ${last}`;
}

function valuesSay(names: readonly string[]): string {
  if (names.length > NAMED_MAX) return `${names.length} values changed`;
  return `${names.length === 1 ? "value" : "values"} of ${listed(names)} changed`;
}

function codeSays(one: SavedStep | undefined, other: SavedStep | undefined): string {
  const [was, now] = [one?.version, other?.version];
  const isOtherVersion = was !== undefined && now !== undefined && was !== now;
  return isOtherVersion ? `version ${now} in place of ${was}` : "code changed";
}

function noteSays(was: string | undefined, now: string | undefined): string {
  if (was === undefined) return "note added";
  return now === undefined ? "note removed" : "note changed";
}

function triggersSay(before: readonly TriggerDraft[], after: readonly TriggerDraft[]): string {
  const more = after.length - before.length;
  const many = (n: number) => (n === 1 ? "A trigger" : `${n} triggers`);
  if (more > 0) return `${many(more)} added`;
  if (more < 0) return `${many(-more)} removed`;
  const changed = after.filter((each, at) => stable(each) !== stable(before[at])).length;
  return `${many(changed)} changed`;
}

/** Values of a step by name; those of secrets are known to nobody. */
function valuesOf(
  step: StepDraft | undefined,
  saved: SavedStep | undefined,
): Record<string, unknown> {
  return {
    ...step?.props,
    ...Object.fromEntries((saved?.sealed ?? []).map((name) => [name, SECRET])),
  };
}

type Whole = Content & { readonly settings: unknown };

/** Values that differ between two versions: those of triggers, of the props of each step, and the settings. */
export function valuesThatDiffer(
  before: Whole,
  after: Whole,
): { title: string; changes: Change[] }[] {
  const [one, other] = [draftOf(before), draftOf(after)];
  const [savedBefore, savedAfter] = [savedStepsOf(before.steps), savedStepsOf(after.steps)];
  const triggers = ({ triggers }: Draft) =>
    Object.fromEntries(triggers.map((trigger, at) => [`trigger ${at + 1}`, triggerText(trigger)]));
  return [
    { title: "Triggers", changes: changesOf(triggers(one), triggers(other)) },
    ...other.steps.map((step) => {
      const was = one.steps.find(({ namespace }) => namespace === step.namespace);
      const [old, now] = [savedBefore, savedAfter].map((all) =>
        all.find(({ namespace }) => namespace === step.namespace),
      );
      return { title: step.namespace, changes: changesOf(valuesOf(was, old), valuesOf(step, now)) };
    }),
    {
      title: "Settings",
      changes: changesOf(objectOf(before.settings), objectOf(after.settings)),
    },
  ].filter(({ changes }) => changes.length > 0);
}

function triggerText(trigger: TriggerDraft): string {
  const words = triggerWords(trigger);
  const auth = trigger.kind === "http" ? textOf(trigger.auth.type) : undefined;
  return auth === undefined || auth === "none" ? words : `${words}, authorized by ${auth}`;
}
