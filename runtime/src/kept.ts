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

export const JSON = {
  parse,
  stringify: ((value: unknown, ...more: [((key: string, value: unknown) => unknown)?]) => {
    const json = stringify(value, ...more) as string | undefined;
    return json === undefined ? undefined : wellFormed(json);
  }) as typeof stringify,
};
export const { writeSync } = fs;
export const later = globalThis.setTimeout;
export const soon = globalThis.setImmediate;
export const Buffer = { alloc, allocUnsafe, byteLength, concat };
export type Buffer = globalThis.Buffer;
