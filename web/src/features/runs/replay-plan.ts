/**
 * Plan of a replay: steps that run again, steps whose results are kept, and changes of the code
 * since. Pure.
 */

import type { RunDetail } from "~/api/runs";
import { readJson } from "~/ui/json/problem";
import type { Plan, PlannedStep } from "./queries";

/** In the place of a version: what is not deployed. */
export const DRAFT = 0;

export type Fate = { step: PlannedStep; fate: "kept" | "again" | "off" };

/** Steps of the version that will run, from the step that begins. */
export function fatesOf(steps: readonly PlannedStep[], fromStep: string | undefined): Fate[] {
  let again = fromStep === undefined;
  return steps.map((step) => {
    if (step.name === fromStep) again = true;
    return { step, fate: step.disabled ? "off" : again ? "again" : "kept" };
  });
}

/** Steps that a replay may begin with: those before have results. */
export function beginnings(run: RunDetail, steps: readonly PlannedStep[]): string[] {
  const done = new Set(
    run.steps.filter(({ status }) => status !== "failed").map(({ name }) => name),
  );
  const names: string[] = [];
  for (const step of steps) {
    if (!step.disabled) names.push(step.name);
    if (!step.disabled && !done.has(step.name)) break;
  }
  // The first step is where the trigger begins too.
  return names.slice(1);
}

export type Change = { name: string; before: string; after: string };

/** Steps whose code is not what the run had. */
export function changesOf(had: Plan | undefined, live: Plan | undefined): Change[] {
  if (had === undefined || live === undefined || had.version === live.version) return [];
  const before = new Map(had.steps.map(({ name, code }) => [name, code]));
  const after = new Map(live.steps.map(({ name, code }) => [name, code]));
  const names = [...new Set([...after.keys(), ...before.keys()])];
  return names
    .map((name) => ({ name, before: before.get(name) ?? "", after: after.get(name) ?? "" }))
    .filter((change) => change.before !== change.after);
}

/** Whose code a replay runs. */
export type Version = "live" | "original" | "draft";

export type Choice = { version: Version; plan: Plan };

/** Versions that can be chosen; one that is the same as another is not offered twice. */
export function choicesOf({
  had,
  live,
  draft,
}: {
  had: Plan | undefined;
  live: Plan | undefined;
  draft: Plan | undefined;
}): Choice[] {
  const original = had !== undefined && had.version !== live?.version ? had : undefined;
  return [
    ...(live === undefined ? [] : [{ version: "live" as const, plan: live }]),
    ...(original === undefined ? [] : [{ version: "original" as const, plan: original }]),
    ...(draft === undefined ? [] : [{ version: "draft" as const, plan: draft }]),
  ];
}

export function nameOf({ version }: Plan): string {
  return version === DRAFT ? "the draft" : `v${version}`;
}

/** An event that was typed. */
export function editedOf(text: string): { event: unknown } | { problem: string } {
  const result = readJson(text);
  return "problem" in result ? result : { event: result.value };
}
