// `additionalProps`: called with copies of the component's definitions, which it may change; what it
// returns is merged with them.
import type { CallContext } from "./context.ts";
import { describeProp } from "./describe.ts";
import { kindOf, wireError } from "./errors.ts";
import type { Prepared } from "./instance.ts";
import { JSON } from "./kept.ts";
import { isObject, put, resolveProps, type ResolvedProp } from "./props.ts";
import type { Bag, Fn } from "./types.ts";

/** All props as additionalProps leaves them, and the names of those that it made or changed. */
export async function withAdditional(prepared: Prepared, frame: Bag, self: Bag): Promise<{ all: ResolvedProp[]; added: Set<string> }> {
  const own = (prepared.component.props ?? {}) as Bag;
  // Code changes the definitions it is given: they are a copy, and what it did to them counts.
  const given = Object.fromEntries(Object.entries(own).map(([name, value]) => [name, definitionCopy(value)]));
  const originals = new Map(Object.entries(given).map(([name, copy]) => [copy, own[name]]));
  const before = JSON.stringify(resolveProps(given, originals).map((prop) => describeProp(prop, () => self)));
  const previous = previousOf(frame["previous"]);
  const merged: Bag = { ...given, ...Object.fromEntries(Object.entries(previous).filter(([name]) => !Object.hasOwn(own, name))) };
  const returned = await (prepared.component.additionalProps as Fn).call(self, merged);
  if (returned !== undefined && returned !== null && !isObject(returned)) {
    throw new TypeError(`additionalProps must return an object of prop definitions; it returned ${kindOf(returned)}`);
  }
  // The result takes the place of the one before it: of the earlier definitions only the component's own stay.
  const kept = Object.fromEntries(Object.entries(merged).filter(([name, value]) => value !== undefined && (Object.hasOwn(own, name) || !Object.hasOwn(previous, name))));
  const all = resolveProps({ ...kept, ...(returned as Bag | undefined) }, originals);
  prepared.learnApps(all);
  const unchanged = new Map((JSON.parse(before) as Bag[]).map((prop) => [prop["name"], JSON.stringify(prop)]));
  return { all, added: new Set(all.filter((prop) => JSON.stringify(describeProp(prop, () => self)) !== unchanged.get(prop.name)).map((prop) => prop.name)) };
}

/**
 * Makes the methods of apps that only additionalProps declares known before a run: the description of a prop has none. An
 * isolate calls it before each run until it has returned them. `self`: an instance as a form has it.
 */
export async function findApps(prepared: Prepared, dynamic: unknown, self: Bag, call: CallContext): Promise<void> {
  let why = "it did not return them this time";
  try {
    await withAdditional(prepared, {}, self);
  } catch (error) {
    const { name, message } = wireError(error);
    why = `it failed (${name}: ${message})`;
  }
  const names = prepared.unknownApps(dynamic).map((name) => `\`${name}\``);
  if (names.length > 0) call.log("warn", `only additionalProps has the app of ${names.join(", ")}, and ${why}: the app's methods are missing in this run; declare it among the component's props`);
}

/** A definition that may be changed; shorthand becomes an object, for code sets fields of it. */
function definitionCopy(value: unknown): unknown {
  if (typeof value === "string") return { type: value };
  if (!isObject(value)) return value;
  const copy: Bag = { ...value };
  for (const field of ["options", "default", "static"]) if (Object.hasOwn(copy, field)) copy[field] = dataCopy(copy[field], new Map());
  return copy;
}

/** A copy of lists and plain objects; all else in them, such as functions and class instances, is the same value. */
function dataCopy(value: unknown, made: Map<unknown, unknown>): unknown {
  if (value === null || typeof value !== "object") return value;
  const prototype: unknown = Object.getPrototypeOf(value);
  const isList = Array.isArray(value);
  if (!isList && prototype !== Object.prototype && prototype !== null) return value;
  if (made.has(value)) return made.get(value);
  const copy: unknown[] | Bag = isList ? [] : {};
  made.set(value, copy);
  for (const [name, item] of Object.entries(value)) put(copy as Bag, name, dataCopy(item, made));
  return copy;
}

/** Earlier definitions as the server kept them: a list with names, or an object by name. */
export function previousOf(previous: unknown): Bag {
  if (Array.isArray(previous)) return Object.fromEntries((previous as Bag[]).map(({ name, ...definition }) => [String(name), definition]));
  return isObject(previous) ? previous : {};
}
