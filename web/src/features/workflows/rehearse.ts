/** A rehearsal: what the draft gives for events that the live version ran on. Pure. */

import { isObject, listOf, objectOf, textOf } from "~/api/json";
import { errorOf, type StepRecord, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";
import type { Renames } from "./renames";

export type Outcome = "same" | "differs" | "throws" | "throws-too" | "passes" | "stops";

export const outcomeWords: Record<Outcome, string> = {
  same: "same",
  differs: "differs",
  throws: "throws now",
  "throws-too": "throws, as before",
  passes: "passes now",
  stops: "stops before",
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

/**
 * How far the draft is rehearsed: a step that would call somebody and has nothing recorded does not run, and nothing behind it. `stop`: that step;
 * `upTo`: the one before it, none where it is the first.
 */
export function reachOf(
  names: readonly string[],
  outward: ReadonlySet<string>,
  recorded: ReadonlySet<string>,
): { stop: string | undefined; upTo: string | undefined } {
  const at = names.findIndex((name) => outward.has(name) && !recorded.has(name));
  return at < 0 ? { stop: undefined, upTo: undefined } : { stop: names[at], upTo: names[at - 1] };
}

/**
 * The outcome, and the first step that is not as it was. `stop`: the step that was not run;
 * `renames`: of the steps that had other names before.
 */
export function outcomeOf(
  before: Run,
  now: Run,
  stop?: string,
  renames: Renames = new Map(),
): { outcome: Outcome; step: string | undefined } {
  const [had, has] = [before, now].map(({ steps }) => steps.flatMap(stepOf)) as [
    StepRecord[],
    StepRecord[],
  ];
  const [threw, throws] = [errorOf(before.error, had), errorOf(now.error, has)];
  if (throws !== undefined) {
    return { outcome: threw === undefined ? "throws" : "throws-too", step: throws.step };
  }
  if (threw !== undefined && stop === undefined) return { outcome: "passes", step: threw.step };
  const given = new Map(had.map((step) => [step.name, JSON.stringify(step.exports)]));
  const oldName = (name: string) => (given.has(name) ? name : (renames.get(name) ?? name));
  const changed = has.find((step) => {
    const was = given.get(oldName(step.name));
    return was !== undefined && was !== JSON.stringify(step.exports);
  });
  if (stop !== undefined && changed === undefined) return { outcome: "stops", step: stop };
  const news = has.find(({ name }) => !given.has(oldName(name)));
  const gone = had.find(({ name }) => !has.some((step) => oldName(step.name) === name));
  const step = changed?.name ?? news?.name ?? gone?.name;
  return { outcome: step === undefined ? "same" : "differs", step };
}
