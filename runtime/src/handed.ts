// `steps`: recorded results of the trigger and earlier steps. Each step gets copies of its own, as
// after a pause or a restart: a change that one step makes reaches no later step. A copy is made
// when it is read, so that a step that reads nothing costs nothing.
import { inspect } from "node:util";

import { JSON } from "./kept.ts";
import { withHeaderLookup } from "./source.ts";
import type { Bag, CallFrame } from "./types.ts";

/** A call's frame as one step reads it, parsed anew for each step but the first that asks. */
export type ReadFrame = () => CallFrame;

export class HandedOn {
  readonly #frame: CallFrame;
  readonly #text: string;
  #given = false;
  /** Names in their order, with the text of those that finished in this call; the others are in the frame. */
  readonly #finished = new Map<string, string | undefined>();

  constructor(frame: CallFrame, text: string) {
    this.#frame = frame;
    this.#text = text;
  }

  /** A step that finished; no text: the frame has its exports. */
  finished(namespace: string, exports?: string): void {
    this.#finished.set(namespace, exports);
  }

  /** The frame for one step. */
  frame(): ReadFrame {
    return once(() => {
      if (this.#given) return JSON.parse(this.#text) as CallFrame;
      this.#given = true;
      return this.#frame;
    });
  }

  /** `steps` for one step. */
  steps(frame: ReadFrame): Bag {
    const steps: Bag = {};
    lazily(steps, "trigger", () => {
      const trigger = frame()["trigger"] as Bag;
      withHeaderLookup(trigger["event"]);
      return trigger;
    });
    for (const [name, text] of this.#finished) {
      lazily(steps, name, () => (text === undefined ? (frame()["results"] as Bag)[name] : JSON.parse(text)));
    }
    // Printed as the values that it has, not as getters.
    Object.defineProperty(steps, inspect.custom, { value: () => ({ ...steps }), enumerable: false });
    return steps;
  }
}

function once<T>(make: () => T): () => T {
  let made: { value: T } | undefined;
  return () => (made ??= { value: make() }).value;
}

/** A property of the object itself, also where the name means something else. */
function lazily(object: Bag, name: string, make: () => unknown): void {
  let read = once(make);
  const set = (value: unknown): void => {
    read = () => value;
  };
  Object.defineProperty(object, name, { get: () => read(), set, enumerable: true, configurable: true });
}
