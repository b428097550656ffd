/** A rehearsal: what the draft gives for events that the live version ran on. Pure. */

import { isObject, listOf, objectOf, textOf } from "~/api/json";
import { errorOf, type StepRecord, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";

export type Outcome = "same" | "differs" | "throws" | "throws-too" | "passes";

export const outcomeWords: Record<Outcome, string> = {
  same: "same",
  differs: "differs",
  throws: "throws now",
  "throws-too": "throws, as before",
  passes: "passes now",
};

/** Props that lead out of the workflow: accounts and what is stored. */
const OUTWARD = ["app", "data_store", "dir", "sql"];

/** Steps that use accounts or stores: a rehearsal gives what they recorded, and calls nobody. */
export function withAccounts(steps: readonly unknown[]): Set<string> {
  const names = steps.flatMap((step) => {
    const name = isObject(step) ? textOf(step.namespace) : undefined;
    if (!isObject(step) || name === undefined) return [];
    const defs = listOf(objectOf(step.savedComponent).configurableProps);
    return defs.some((def) => isObject(def) && OUTWARD.includes(textOf(def.type) ?? ""))
      ? [name]
      : [];
  });
  return new Set(names);
}

/** The outcome, and the first step that is not as it was. */
export function outcomeOf(before: Run, now: Run): { outcome: Outcome; step: string | undefined } {
  const [had, has] = [before, now].map(({ steps }) => steps.flatMap(stepOf)) as [
    StepRecord[],
    StepRecord[],
  ];
  const [threw, throws] = [errorOf(before.error, had), errorOf(now.error, has)];
  if (throws !== undefined) {
    return { outcome: threw === undefined ? "throws" : "throws-too", step: throws.step };
  }
  if (threw !== undefined) return { outcome: "passes", step: threw.step };
  const given = new Map(had.map((step) => [step.name, JSON.stringify(step.exports)]));
  const changed = has.find((step) => {
    const was = given.get(step.name);
    return was !== undefined && was !== JSON.stringify(step.exports);
  });
  const news = has.find(({ name }) => !given.has(name));
  const gone = had.find(({ name }) => !has.some((step) => step.name === name));
  const step = changed?.name ?? news?.name ?? gone?.name;
  return { outcome: step === undefined ? "same" : "differs", step };
}
