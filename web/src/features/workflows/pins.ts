/** Results that a person pinned to steps: what tests take in the place of running them. */

import { useEffect, useRef, useState } from "react";
import { isObject, type JsonObject } from "~/api/json";
import { forget, keep, keptOf } from "~/shell/kept";
import { readJson } from "~/ui/json/problem";
import type { StepDraft } from "./model";

/** By the key of the step in this builder. */
export type Pins = Readonly<Record<string, JsonObject>>;

const place = (workflow: string) => `pins.${workflow}`;

/** Pins that this browser kept, for the steps of these names. */
export function keptPins(workflow: string, steps: readonly StepDraft[]): Pins {
  const kept = keptOf(place(workflow))?.value;
  if (!isObject(kept)) return {};
  return Object.fromEntries(
    steps.flatMap(({ key, namespace }): [string, JsonObject][] => {
      const pin = kept[namespace];
      return isObject(pin) ? [[key, pin]] : [];
    }),
  );
}

/** Pins by the names of their steps, as they are kept. */
function byName(steps: readonly StepDraft[], pins: Pins): Pins {
  return Object.fromEntries(
    steps.flatMap(({ key, namespace }): [string, JsonObject][] => {
      const pin = pins[key];
      return pin === undefined ? [] : [[namespace, pin]];
    }),
  );
}

/** What is kept with the changes of this tab; pins of another tab stay. All by name. */
export function mergedPins(kept: JsonObject, before: Pins, now: Pins): JsonObject {
  const next = { ...kept };
  for (const name of new Set([...Object.keys(before), ...Object.keys(now)])) {
    if (before[name] === now[name]) continue;
    if (now[name] === undefined) delete next[name];
    else next[name] = now[name];
  }
  return next;
}

function keepPins(workflow: string, before: Pins, now: Pins): void {
  const names = new Set([...Object.keys(before), ...Object.keys(now)]);
  if ([...names].every((name) => before[name] === now[name])) return;
  const kept = keptOf(place(workflow))?.value;
  const next = mergedPins(isObject(kept) ? kept : {}, before, now);
  if (Object.keys(next).length === 0) forget(place(workflow));
  else keep(place(workflow), next);
}

/** A result as it was typed: an object of exports, `$return_value` among them. */
export function pinFrom(text: string): { pin: JsonObject } | { problem: string } {
  const result = readJson(text);
  if ("problem" in result) return result;
  if (isObject(result.value)) return { pin: result.value };
  return { problem: 'A result is an object with what the step exports: {"$return_value": 1}.' };
}

/**
 * Pins after the steps changed. A record that is read anew gives its steps other keys: a step of the same name that came as the
 * pinned one went is that step. One that is added later is not.
 */
export function carriedPins(
  pins: Pins,
  before: readonly StepDraft[],
  after: readonly StepDraft[],
): Pins {
  const moved = before.flatMap(({ key, namespace }): [string, string][] => {
    if (pins[key] === undefined || after.some((step) => step.key === key)) return [];
    const now = after.find((step) => step.namespace === namespace);
    return now === undefined || before.some((step) => step.key === now.key) ? [] : [[key, now.key]];
  });
  if (moved.length === 0) return pins;
  const keys = new Map(moved);
  return Object.fromEntries(Object.entries(pins).map(([key, pin]) => [keys.get(key) ?? key, pin]));
}

export function usePins(workflow: string, steps: readonly StepDraft[]) {
  const [{ pins, at }, setState] = useState(() => ({ pins: keptPins(workflow, steps), at: 0 }));
  const before = useRef(steps);
  useEffect(() => {
    const carried = carriedPins(pins, before.current, steps);
    before.current = steps;
    if (carried !== pins) setState(({ at }) => ({ pins: carried, at }));
  }, [pins, steps]);
  // Kept by name: a step that is renamed keeps its pin, one that is removed leaves none to the next of its name.
  const known = useRef<Pins | undefined>(undefined);
  useEffect(() => {
    const named = byName(steps, pins);
    if (known.current !== undefined) keepPins(workflow, known.current, named);
    known.current = named;
  }, [workflow, steps, pins]);
  const change = (next: Pins) => setState({ pins: next, at: Date.now() });
  return {
    pins,
    /** When they were changed last. */
    at,
    pin: (key: string, exports: JsonObject) => change({ ...pins, [key]: exports }),
    unpin: (key: string) => {
      const { [key]: _, ...others } = pins;
      change(others);
    },
  };
}
