/** Steps that a version has under other names than the version before it. Pure. */

import { type SavedStep, savedStepsOf } from "./model";

/** New names of steps, and the old name of each. */
export type Renames = ReadonlyMap<string, string>;

/** Share of lines that the code of a step keeps under another name. */
const ALIKE = 0.5;

/**
 * Neither the server nor a deployed version records a rename: it is recognised by what the step
 * runs, or by similar code at the same place among the steps that both versions have.
 */
export function renamesOf(before: readonly unknown[], after: readonly unknown[]): Renames {
  const [old, now] = [savedStepsOf(before), savedStepsOf(after)];
  const removed = old.filter((step) => !has(now, step));
  const added = now.filter((step) => !has(old, step));
  const pairs = added
    .flatMap((to) =>
      removed.map((from) => {
        const alike = likeness(from, to);
        const isThere = placeOf(old, now, from) === placeOf(now, old, to);
        return { from, to, alike: isThere || alike === 1 ? alike : 0 };
      }),
    )
    .filter(({ alike }) => alike >= ALIKE)
    .sort((one, other) => other.alike - one.alike);
  const renames = new Map<string, string>();
  const taken = new Set<string>();
  for (const { from, to } of pairs) {
    if (renames.has(to.namespace) || taken.has(from.namespace)) continue;
    renames.set(to.namespace, from.namespace);
    taken.add(from.namespace);
  }
  return renames;
}

function has(steps: readonly SavedStep[], { namespace }: SavedStep): boolean {
  return steps.some((step) => step.namespace === namespace);
}

/** The last step before this one that the other version has too. */
function placeOf(
  steps: readonly SavedStep[],
  others: readonly SavedStep[],
  step: SavedStep,
): string | undefined {
  return steps.slice(0, steps.indexOf(step)).findLast((each) => has(others, each))?.namespace;
}

/** 1 where both run the same. */
function likeness(one: SavedStep, other: SavedStep): number {
  if (one.isAction || other.isAction) {
    return one.isAction && other.isAction && one.componentKey === other.componentKey ? 1 : 0;
  }
  const [had, now] = [linesOf(one.code), linesOf(other.code)];
  if (one.code === other.code) return 1;
  const kept = [...had].filter((line) => now.has(line)).length;
  // The same lines in another order are not the same code.
  return (0.99 * kept) / Math.max(had.size, now.size);
}

function linesOf(code: string): ReadonlySet<string> {
  return new Set(code.split("\n").map((line) => line.trim()));
}
