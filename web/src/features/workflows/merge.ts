/** Two drafts that began from the same one, brought together; what both changed differently is to be decided. Pure. */

import { isObject } from "~/api/json";
import type { Draft, StepDraft, TriggerDraft } from "./model";

export type Side = "mine" | "theirs";

/** One thing that both drafts changed, each to something else. */
export type Conflict = {
  id: string;
  /** The thing in words: `load: code`. */
  what: string;
  /** Both as text, with what they began from, where there is text to compare. */
  texts: { base: string; mine: string; theirs: string };
};

export type Merged = {
  draft: Draft;
  conflicts: Conflict[];
  /** What the other side changed that was not touched here. */
  taken: string[];
};

export type Choices = Readonly<Record<string, Side>>;

/** Steps of `theirs` under the identities that `base` has for them. */
export function sameKeys(theirs: Draft, base: Draft): Draft {
  const keys = new Map(base.steps.map(({ namespace, key }) => [namespace, key]));
  return {
    ...theirs,
    steps: theirs.steps.map((step) => ({ ...step, key: keys.get(step.namespace) ?? step.key })),
  };
}

/** `choices` decides conflicts by their id; an undecided one stays as it is here. */
export function mergeOf(base: Draft, mine: Draft, theirs: Draft, choices: Choices = {}): Merged {
  const conflicts: Conflict[] = [];
  const taken: string[] = [];
  const pick = <T>(
    id: string,
    what: string,
    sides: { base: T; mine: T; theirs: T },
    text: (value: T) => string,
  ): T => {
    const [was, here, there] = [text(sides.base), text(sides.mine), text(sides.theirs)];
    if (here === there) return sides.mine;
    if (here === was) {
      taken.push(what);
      return sides.theirs;
    }
    if (there === was) return sides.mine;
    conflicts.push({ id, what, texts: { base: was, mine: here, theirs: there } });
    return choices[id] === "theirs" ? sides.theirs : sides.mine;
  };

  const triggers = pick<TriggerDraft[]>(
    "triggers",
    "Triggers",
    { base: base.triggers, mine: mine.triggers, theirs: theirs.triggers },
    (value) => stable(value, 2),
  );
  const before = new Map(base.steps.map((step) => [step.key, step]));
  const here = new Map(mine.steps.map((step) => [step.key, step]));
  const there = new Map(theirs.steps.map((step) => [step.key, step]));
  const merged = new Map<string, StepDraft>();
  for (const key of new Set([...before.keys(), ...here.keys(), ...there.keys()])) {
    const step = stepOf(key, before.get(key), here.get(key), there.get(key), pick, taken);
    if (step !== undefined) merged.set(key, step);
  }
  return { draft: { triggers, steps: inOrder(base, mine, theirs, merged) }, conflicts, taken };
}

type Pick = <T>(
  id: string,
  what: string,
  sides: { base: T; mine: T; theirs: T },
  text: (value: T) => string,
) => T;

function stepOf(
  key: string,
  base: StepDraft | undefined,
  mine: StepDraft | undefined,
  theirs: StepDraft | undefined,
  pick: Pick,
  taken: string[],
): StepDraft | undefined {
  const name = (mine ?? theirs ?? base)?.namespace ?? "";
  if (base === undefined) {
    if (mine === undefined) taken.push(`${name} added`);
    return mine ?? theirs;
  }
  if (mine === undefined || theirs === undefined) {
    if (mine === undefined && theirs === undefined) return undefined;
    // Removed on one side: a conflict only where the other side changed it.
    return pick<StepDraft | undefined>(
      `${key} added`,
      `${base.namespace}: removed on one side, changed on the other`,
      { base, mine, theirs },
      (step) => (step === undefined ? "" : whole(step)),
    );
  }
  const props: Record<string, unknown> = {};
  const names = new Set([base, mine, theirs].flatMap((step) => Object.keys(step.props)));
  for (const prop of names) {
    const value = pick<unknown>(
      `${key} prop ${prop}`,
      `${name}: ${prop}`,
      { base: base.props[prop], mine: mine.props[prop], theirs: theirs.props[prop] },
      (given) => (given === undefined ? "" : stable(given, 2)),
    );
    if (value !== undefined) props[prop] = value;
  }
  const part = <T>(what: string, of: (step: StepDraft) => T, text: (value: T) => string) =>
    pick<T>(
      `${key} ${what}`,
      `${name}: ${what}`,
      { base: of(base), mine: of(mine), theirs: of(theirs) },
      text,
    );
  return {
    ...mine,
    namespace: part("name", (step) => step.namespace, String),
    runs: part(
      "code",
      (step) => step.runs,
      (runs) => (runs.kind === "code" ? codeText(runs) : runs.component),
    ),
    disabled: part(
      "on or off",
      (step) => step.disabled,
      (off) => (off ? "off" : "on"),
    ),
    note: part(
      "note",
      (step) => step.note,
      (note) => note ?? "",
    ),
    props,
  };
}

/** Steps in the order of the side that changed it; those of the other side stand behind what they followed there. */
function inOrder(
  base: Draft,
  mine: Draft,
  theirs: Draft,
  merged: ReadonlyMap<string, StepDraft>,
): StepDraft[] {
  const keys = (draft: Draft) => draft.steps.map(({ key }) => key);
  const kept = (draft: Draft) => keys(draft).filter((key) => merged.has(key));
  const common = (draft: Draft) => kept(draft).filter((key) => keys(base).includes(key));
  const moved =
    common(mine).join() !==
    kept(base)
      .filter((key) => keys(mine).includes(key))
      .join();
  const [first, second] = moved ? [mine, theirs] : [theirs, mine];
  const order = kept(first);
  const others = kept(second);
  for (const [at, key] of others.entries()) {
    if (order.includes(key)) continue;
    const previous = others[at - 1];
    order.splice(previous === undefined ? 0 : order.indexOf(previous) + 1, 0, key);
  }
  return uniqueNames(order.flatMap((key) => merged.get(key) ?? []));
}

/** Both sides may have added a step of the same name. */
function uniqueNames(steps: readonly StepDraft[]): StepDraft[] {
  const taken = new Set<string>();
  return steps.map((step) => {
    let { namespace } = step;
    for (let number = 2; taken.has(namespace); number += 1) {
      namespace = `${step.namespace}_${number}`;
    }
    taken.add(namespace);
    return namespace === step.namespace ? step : { ...step, namespace };
  });
}

function codeText({ code, files }: StepDraft["runs"] & { kind: "code" }): string {
  const others = Object.entries(files?.others ?? {});
  return [code, ...others.map(([path, text]) => `// ${path}\n${text}`)].join("\n");
}

function whole({ namespace, runs, props, disabled, note }: StepDraft): string {
  const code = runs.kind === "code" ? codeText(runs) : `component ${runs.component}`;
  const rest = Object.keys(props).length === 0 ? "" : `\n${stable(props, 2)}`;
  const said = note === undefined ? "" : `${note}\n`;
  return `${namespace}${disabled ? " (off)" : ""}\n${said}${code}${rest}`;
}

function stable(value: unknown, indent: number): string {
  const sorted = (_: string, each: unknown): unknown =>
    isObject(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each;
  return JSON.stringify(value, sorted, indent) ?? "";
}
