/** Declarations that the code of a step is read with: those of the runtime, and `steps` as the data at hand are. */

import globals from "../../../../runtime/types/globals.d.ts?raw";
import index from "../../../../runtime/types/index.d.ts?raw";
import platform from "../../../../runtime/types/platform.d.ts?raw";
import runtime from "../../../../runtime/types/runtime.d.ts?raw";
import node from "./node-globals.txt?raw";
import { typeOf } from "./type-of";

const STEPS = /export interface Steps \{[\s\S]*?\n\}/;

export type Hand = {
  /** The event, where it is a real one. */
  event: unknown;
  /** What each step before gave, by its name; `undefined`: it is not known. */
  results: ReadonlyMap<string, Readonly<Record<string, unknown>> | undefined>;
};

export function typeFiles({ event, results }: Hand): Record<string, string> {
  const steps = [...results].map(
    ([name, exports]) => `${name}: ${exports === undefined ? "any" : typeOf(exports)};`,
  );
  return {
    "/types/index.d.ts": index,
    "/types/platform.d.ts": platform,
    "/types/runtime.d.ts": runtime.replace(STEPS, 'export type { Steps } from "./data";'),
    "/types/globals.d.ts": globals,
    "/types/node.d.ts": node,
    "/types/data.d.ts": `export interface Steps {
  trigger: { event: ${event === undefined ? "any" : typeOf(event)}; context: any };
  ${steps.join("\n  ")}
}`,
  };
}
