// What the runtime needs of the language, taken before any component is loaded. A component may change `JSON.parse` or `Buffer.concat`, and does
// so in its own process only: but several runs share it, and a run that comes later is read and settled all the same.
const { parse, stringify } = globalThis.JSON;
const { alloc, allocUnsafe, byteLength, concat } = globalThis.Buffer;

export const JSON = { parse, stringify };
export const Buffer = { alloc, allocUnsafe, byteLength, concat };
export type Buffer = globalThis.Buffer;
