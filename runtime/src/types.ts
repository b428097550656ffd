// Shapes that cross the wire (PROTOCOL.md) and those of component modules.

export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };
export type Bag = Record<string, unknown>;
export type Fn = (this: unknown, ...args: unknown[]) => unknown;

/** A component as its module exports it; every part is untrusted and may be missing. */
export interface Component extends Bag {
  name?: string;
  key?: string;
  version?: string;
  type?: string;
  description?: string;
  dedupe?: string;
  props?: Bag;
  methods?: Record<string, unknown>;
  hooks?: Record<string, unknown>;
  additionalProps?: Fn;
  run?: Fn;
  sampleEmit?: unknown;
}

export interface CallFrame extends Bag {
  id: number;
  deadline_ms: number;
  kind: string;
}

export interface StepSpec {
  namespace: string;
  module: string;
  props: Record<string, unknown>;
  disabled: boolean;
  /** Values are data: `{{` in them is text. */
  literal?: boolean;
  /** Definitions that additionalProps made, as it described them. */
  dynamic_props?: unknown;
}

export interface WireError {
  code: string;
  name: string;
  message: string;
  stack: string;
}
