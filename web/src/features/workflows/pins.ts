/** Results that a person pinned to steps: what tests take in the place of running them. */

import { useEffect, useRef, useState } from "react";
import { isObject, type JsonObject } from "~/api/json";
import { forget, keep, keptOf } from "~/shell/kept";
import { jsonProblem } from "~/ui/json/problem";
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

function keepPins(workflow: string, steps: readonly StepDraft[], pins: Pins): void {
  const named = steps.flatMap(({ key, namespace }): [string, JsonObject][] => {
    const pin = pins[key];
    return pin === undefined ? [] : [[namespace, pin]];
  });
  if (named.length === 0) forget(place(workflow));
  else keep(place(workflow), Object.fromEntries(named));
}

/** A result as it was typed: an object of exports, `$return_value` among them. */
export function pinFrom(text: string): { pin: JsonObject } | { problem: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (isObject(value)) return { pin: value };
    return {
      problem: 'A result is an object of what the step exports: {"$return_value": 1}.',
    };
  } catch {
    return { problem: jsonProblem(text) };
  }
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
  const names = steps.flatMap(({ key, namespace }) => (pins[key] ? [`${key} ${namespace}`] : []));
  const named = names.join();
  const known = useRef(named);
  useEffect(() => {
    if (known.current === named) return;
    known.current = named;
    keepPins(workflow, steps, pins);
  }, [workflow, steps, pins, named]);
  const change = (next: Pins) => {
    setState({ pins: next, at: Date.now() });
    keepPins(workflow, steps, next);
  };
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
