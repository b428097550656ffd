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
import { renamesOf } from "./renames";

/**
 * One thing that differs, in words; `step` is the name of the step that it is about, `was` its name
 * before where it was renamed.
 */
export type Difference = {
  step?: string;
  was?: string;
  kind: "added" | "removed" | "changed";
  says: string;
};

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
  const renames = renamesOf(live.steps, draft.steps);
  for (const step of after.steps) {
    const { namespace } = step;
    const old = renames.get(namespace) ?? namespace;
    const was = before.steps.find((each) => each.namespace === old);
    if (was === undefined) {
      found.push({ step: namespace, kind: "added", says: "added" });
      continue;
    }
    const one = savedBefore.find((each) => each.namespace === old);
    const other = savedAfter.find((each) => each.namespace === namespace);
    const isSameCode =
      one?.code === other?.code &&
      one?.version === other?.version &&
      stable(one?.others) === stable(other?.others);
    const names = changesOf(valuesOf(was, one), valuesOf(step, other)).map(({ name }) => name);
    const parts = [
      ...(old === namespace ? [] : [`renamed from ${old}`]),
      ...(isSameCode ? [] : [codeSays(one, other)]),
      ...(names.length === 0 ? [] : [valuesSay(names)]),
      ...(was.note === step.note ? [] : [noteSays(was.note, step.note)]),
      ...(was.disabled === step.disabled ? [] : [step.disabled ? "turned off" : "turned on"]),
    ];
    if (parts.length > 0) {
      const renamed = old === namespace ? {} : { was: old };
      found.push({ step: namespace, ...renamed, kind: "changed", says: parts.join(", ") });
    }
  }
  const [hadNames, names] = [before.steps, after.steps].map((steps) =>
    steps.map(({ namespace }) => namespace),
  ) as [string[], string[]];
  const oldNames = names.map((name) => renames.get(name) ?? name);
  for (const name of hadNames) {
    if (!oldNames.includes(name)) found.push({ step: name, kind: "removed", says: "removed" });
  }
  if (sharedOf(hadNames, oldNames) !== sharedOf(oldNames, hadNames)) {
    found.push({ kind: "changed", says: "Step order changed" });
  }
  if (live.settings !== undefined && stable(live.settings) !== stable(draft.settings)) {
    const names = changesOf(objectOf(live.settings), objectOf(draft.settings)).map(({ name }) =>
      name.replaceAll("_", " "),
    );
    found.push({ kind: "changed", says: `Settings changed: ${listed(names)}` });
  }
  return found;
}

/** Those of the names that the other version has too, in their order. */
function sharedOf(names: readonly string[], others: readonly string[]): string {
  return names.filter((name) => others.includes(name)).join();
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
  const renames = renamesOf(before.steps, after.steps);
  const triggers = ({ triggers }: Draft) =>
    Object.fromEntries(triggers.map((trigger, at) => [`trigger ${at + 1}`, triggerText(trigger)]));
  return [
    { title: "Triggers", changes: changesOf(triggers(one), triggers(other)) },
    ...other.steps.map((step) => {
      const name = renames.get(step.namespace) ?? step.namespace;
      const was = one.steps.find(({ namespace }) => namespace === name);
      const old = savedBefore.find(({ namespace }) => namespace === name);
      const now = savedAfter.find(({ namespace }) => namespace === step.namespace);
      return { title: step.namespace, changes: changesOf(valuesOf(was, old), valuesOf(step, now)) };
    }),
    {
      title: "Settings",
      changes: changesOf(objectOf(before.settings), objectOf(after.settings)),
    },
  ].filter(({ changes }) => changes.length > 0);
}

/** Files of steps whose code differs or is new; the code that a step begins in has its name alone. */
export function codeThatDiffers(
  before: readonly unknown[],
  after: readonly unknown[],
): { title: string; before: string; after: string }[] {
  const renames = renamesOf(before, after);
  const had = savedStepsOf(before);
  return savedStepsOf(after).flatMap((step) => {
    const name = renames.get(step.namespace) ?? step.namespace;
    const was = had.find(({ namespace }) => namespace === name);
    // The code of a published action is not the workflow's, and is known by its version.
    if (was === undefined && step.isAction) return [];
    const paths = [...new Set([...Object.keys(was?.others ?? {}), ...Object.keys(step.others)])];
    return [
      { title: step.namespace, before: was?.code ?? "", after: step.code },
      ...paths.sort().map((path) => ({
        title: `${step.namespace}/${path}`,
        before: was?.others[path] ?? "",
        after: step.others[path] ?? "",
      })),
    ].filter((each) => each.before !== each.after);
  });
}

function triggerText(trigger: TriggerDraft): string {
  const words = triggerWords(trigger);
  const auth = trigger.kind === "http" ? textOf(trigger.auth.type) : undefined;
  return auth === undefined || auth === "none" ? words : `${words}, authorized by ${auth}`;
}
