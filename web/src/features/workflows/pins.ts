/** Results that a person pinned to steps: what tests take in the place of running them. */

import { useState } from "react";
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

export function usePins(workflow: string, steps: readonly StepDraft[]) {
  const [{ pins, at }, setState] = useState(() => ({ pins: keptPins(workflow, steps), at: 0 }));
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
