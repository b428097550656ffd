// Instances of classes within thrown values: those that are data, whose fields may be shown, and
// all others, of which only the class is.
import { EventEmitter } from "node:events";
import { inspect, types } from "node:util";

import { TRAFFIC } from "./masked.ts";

/** Values that are looked at; what holds more is no data that anybody reads in an error. */
const LOOKED_AT_MAX = 1000;
/** Last words in the names of classes whose instances hold credentials, even where these are plain text. */
const ROLE = /(?:client|connection|socket|agent|session|pool|request|response|headers|config|options|credentials?|auth|api|sdk)$/i;

export const className = (value: object): string => {
  const name = read(read(value, "constructor"), "name");
  return typeof name === "string" && name !== "" ? name : "Object";
};

/** A property of a value that may be hostile: undefined where it cannot be read. */
export function read(value: unknown, name: string): unknown {
  try {
    return (value as Record<string, unknown>)[name];
  } catch {
    return undefined;
  }
}

/** `instanceof` of a value that may be a hostile proxy. */
export function isA<T>(value: unknown, kind: abstract new (...given: never[]) => T): value is T {
  try {
    return value instanceof kind;
  } catch {
    return false;
  }
}

export const isError = (value: object): boolean => types.isNativeError(value) || isA(value, Error);

/** An answer of whatever HTTP client: of the Fetch standard's form, whose fields are getters of its class, or a stream with a status, as of Node's `http`, got and superagent. */
export function isResponse(value: object): boolean {
  if (isPlain(value) || typeof (read(value, "status") ?? read(value, "statusCode")) !== "number") return false;
  const isOfFetch = !Object.hasOwn(value, "status") && typeof read(value, "url") === "string" && typeof read(value, "statusText") === "string";
  return isOfFetch || (isA(value, EventEmitter) && "headers" in value);
}

export function isPlain(value: object): boolean {
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype || className(value) === "Object";
}

/** Values that are shown whole, or by their size, whatever they are of. */
const isLeaf = (value: object): boolean =>
  types.isDate(value) || types.isRegExp(value) || types.isBoxedPrimitive(value) || ArrayBuffer.isView(value) || value instanceof URL || isError(value);

/** An instance that may hold data alone; a class that says how it is shown may do so to hide what it holds. */
const mayBeData = (value: object): boolean => !ROLE.test(className(value)) && !isA(value, EventEmitter) && !(inspect.custom in value) && Object.keys(value).length > 0;

/** Whether an instance holds nothing but data: no function at any depth, nothing that was sent or received, no client or connection. Calls no getter. */
export function isData(instance: object): boolean {
  const seen = new Set<unknown>([instance]);
  // With a message it is an error by another name: of a model that it refers to, the class is shown.
  const isFault = typeof Object.getOwnPropertyDescriptor(instance, "message")?.value === "string";
  for (const value of seen) {
    if (typeof value === "function" || seen.size > LOOKED_AT_MAX) return false;
    if (value === null || typeof value !== "object" || (isFault && value !== instance)) continue;
    if (types.isProxy(value)) return false;
    if (isLeaf(value)) continue;
    if (types.isMap(value)) for (const entry of Map.prototype.entries.call(value)) seen.add(entry);
    else if (types.isSet(value)) for (const item of Set.prototype.values.call(value)) seen.add(item);
    else if (!Array.isArray(value) && !isPlain(value) && !mayBeData(value)) return false;
    for (const name of Reflect.ownKeys(value)) {
      const field: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
      const isObject = typeof field === "object" && field !== null;
      if (isObject && typeof name === "string" && TRAFFIC.has(name.toLowerCase())) return false;
      if (isObject || typeof field === "function") seen.add(field);
    }
  }
  return true;
}
