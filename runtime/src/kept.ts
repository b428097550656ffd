// Primordials: members of the language that the runtime needs, saved before any component is
// loaded. A component may change `JSON.parse` or `Buffer.concat` in its own process, which several
// runs share; a later run is still read and settled.
import fs from "node:fs";

const { parse, stringify } = globalThis.JSON;
const { alloc, allocUnsafe, byteLength, concat } = globalThis.Buffer;

/** `call(method)(self, …)`: the method as it is now, whatever becomes of `call`, `apply` and prototypes. */
const call = Function.prototype.bind.bind(Function.prototype.call) as <S, A extends unknown[], R>(method: (this: S, ...args: A) => R) => (self: S, ...args: A) => R;
const indexOf = call(String.prototype.indexOf);
const charCodeAt = call(String.prototype.charCodeAt);
const slice = call(String.prototype.slice);
export const deleteFrom = call(Map.prototype.delete) as <K, V>(map: Map<K, V>, key: K) => boolean;
/** Entries of a map without an iterator. */
export const eachEntry = call(Map.prototype.forEach) as <K, V>(map: Map<K, V>, take: (value: V, key: K) => void) => void;

/** The parts of a buffer that frames are read from and written to, by functions of Node that call no others. */
const { utf8Slice, utf8Write } = globalThis.Buffer.prototype as unknown as Record<"utf8Slice" | "utf8Write", (...args: (string | number)[]) => unknown>;
export const textOf = call(utf8Slice as (this: Uint8Array, from: number, to: number) => string);
export const writeText = call(utf8Write as (this: Uint8Array, text: string, at: number) => number);
export const readUInt32LE = call(globalThis.Buffer.prototype.readUInt32LE as (this: Uint8Array, at: number) => number);
export const writeUInt32LE = call(globalThis.Buffer.prototype.writeUInt32LE as (this: Uint8Array, value: number, at: number) => number);
export const subarray = call(globalThis.Buffer.prototype.subarray as (this: Uint8Array, from: number, to?: number) => Buffer);
const set = call(Uint8Array.prototype.set as (this: Uint8Array, from: Uint8Array, at: number) => void);

/** Puts bytes of one buffer into another, where they have room. */
export function copyInto(to: Uint8Array, at: number, from: Buffer, start: number, end: number): void {
  set(to, subarray(from, start, end), at);
}

const BACKSLASH = 92;

/** JSON text as every reader takes it: half of a surrogate pair, as `"…".slice(0, n)` leaves it, becomes U+FFFD. */
function wellFormed(json: string): string {
  // Only halves are escaped: a whole pair is written as the character itself, and U+D7FF too.
  let at = indexOf(json, "\\ud");
  if (at === -1) return json;
  let mended = "";
  let kept = 0;
  for (; at !== -1; at = indexOf(json, "\\ud", at + 1)) {
    let before = at;
    while (before > kept && charCodeAt(json, before - 1) === BACKSLASH) before--;
    // After an odd number of them this is a backslash that is escaped itself.
    if ((at - before) % 2 === 1) continue;
    mended += `${slice(json, kept, at)}\\ufffd`;
    kept = at + 6;
  }
  return mended + slice(json, kept);
}

const { keys } = Object;
const { isArray } = Array;

/** JSON text of what the runtime itself put together: objects, arrays and primitives without cycles. A `toJSON` that code gave to all objects, as old libraries do, is not asked, nor are iterators. */
export function ownText(value: unknown): string | undefined {
  if (value === null || typeof value !== "object") return JSON.stringify(value) as string | undefined;
  let text = "";
  if (isArray(value)) {
    for (let at = 0; at < value.length; at++) text += `${at === 0 ? "" : ","}${ownText(value[at]) ?? "null"}`;
    return `[${text}]`;
  }
  const names = keys(value);
  for (let at = 0; at < names.length; at++) {
    const name = names[at] as string;
    const part = ownText((value as Record<string, unknown>)[name]);
    if (part !== undefined) text += `${text === "" ? "" : ","}${JSON.stringify(name)}:${part}`;
  }
  return `{${text}}`;
}

export const JSON = {
  parse,
  stringify: ((value: unknown, replacer?: (key: string, value: unknown) => unknown, space?: number) => {
    const json = stringify(value, replacer, space) as string | undefined;
    return json === undefined ? undefined : wellFormed(json);
  }) as typeof stringify,
};
export const { writeSync } = fs;
export const reallyExit = process.reallyExit.bind(process);
const STDERR = 2;

/** Ends the process where this program itself fails, as where code replaced a function of the language that it needs: the server then fails what is under way at once, where it would wait for it to the end of its time. */
export function giveUp(error: unknown): never {
  try {
    writeSync(STDERR, `this process cannot go on, as where code replaces a built-in function: ${(error as Error).stack}\n`);
  } catch {
    // It ends without a word.
  }
  return reallyExit(70) as never;
}
export const { now } = Date;
export const later = globalThis.setTimeout;
export const soon = globalThis.setImmediate;
export const Buffer = { alloc, allocUnsafe, byteLength, concat };
export type Buffer = globalThis.Buffer;
