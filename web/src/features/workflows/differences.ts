/** How two versions of a workflow differ: in sentences, and by their values. Pure. */

import { objectOf, textOf } from "~/api/json";
import { type Change, changesOf, SECRET, stable } from "~/ui/changes";
import {
  type Content,
  type Draft,
  draftOf,
  type StepDraft,
  savedStepsOf,
  type TriggerDraft,
  triggerWords,
} from "./model";

/** How the draft differs from what is live, as sentences. */
export function differences(
  draft: Content & { readonly settings: unknown },
  live: Partial<Content> & Pick<Content, "steps"> & { readonly settings?: unknown },
): string[] {
  const found: string[] = [];
  const before = draftOf({ triggers: live.triggers ?? [], steps: live.steps });
  const after = draftOf(draft);
  const codeBefore = savedStepsOf(live.steps);
  const codeAfter = savedStepsOf(draft.steps);
  if (stable(before.triggers) !== stable(after.triggers)) found.push("Triggers changed");
  for (const step of after.steps) {
    const was = before.steps.find(({ namespace }) => namespace === step.namespace);
    if (was === undefined) {
      found.push(`${step.namespace} added`);
      continue;
    }
    const [one, other] = [codeBefore, codeAfter].map((all) =>
      all.find(({ namespace }) => namespace === step.namespace),
    );
    const parts = [
      ...(one?.code === other?.code && one?.version === other?.version ? [] : ["code"]),
      ...(stable(was.props) === stable(step.props) && stable(one?.sealed) === stable(other?.sealed)
        ? []
        : ["props"]),
      ...(was.note === step.note ? [] : ["note"]),
      ...(was.disabled === step.disabled ? [] : [step.disabled ? "turned off" : "turned on"]),
    ];
    if (parts.length > 0) found.push(`${step.namespace}: ${parts.join(", ")}`);
  }
  for (const { namespace } of before.steps) {
    if (!after.steps.some((step) => step.namespace === namespace)) {
      found.push(`${namespace} removed`);
    }
  }
  const names = (steps: readonly StepDraft[]) => steps.map(({ namespace }) => namespace).join();
  if (found.length === 0 && names(before.steps) !== names(after.steps)) {
    found.push("Steps in another order");
  }
  if (live.settings !== undefined && stable(live.settings) !== stable(draft.settings)) {
    found.push("Settings changed");
  }
  return found;
}

type Whole = Content & { readonly settings: unknown };

/** Values that differ between two versions: those of triggers, of the props of each step, and the settings. */
export function valuesThatDiffer(
  before: Whole,
  after: Whole,
): { title: string; changes: Change[] }[] {
  const [one, other] = [draftOf(before), draftOf(after)];
  const sealed = (version: Content) =>
    new Map(savedStepsOf(version.steps).map((step) => [step.namespace, step.sealed]));
  const [sealedBefore, sealedAfter] = [sealed(before), sealed(after)];
  const propsOfStep = (step: StepDraft | undefined, names: readonly string[] = []) => ({
    ...step?.props,
    ...Object.fromEntries(names.map((name) => [name, SECRET])),
  });
  const triggers = ({ triggers }: Draft) =>
    Object.fromEntries(triggers.map((trigger, at) => [`trigger ${at + 1}`, triggerText(trigger)]));
  return [
    { title: "Triggers", changes: changesOf(triggers(one), triggers(other)) },
    ...other.steps.map((step) => {
      const was = one.steps.find(({ namespace }) => namespace === step.namespace);
      const [old, now] = [sealedBefore, sealedAfter].map((all) => all.get(step.namespace));
      return {
        title: step.namespace,
        changes: changesOf(propsOfStep(was, old), propsOfStep(step, now)),
      };
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
