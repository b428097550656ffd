// Description of a module as JSON, with markers in place of functions.
import { types } from "node:util";

import { dependenciesOf } from "./depends.ts";
import { functionsOf, ownerOf, type Prepared } from "./instance.ts";
import { kindOf } from "./errors.ts";
import { isObject, type ResolvedProp } from "./props.ts";
import type { Bag, Fn } from "./types.ts";

const HOOKS = ["deploy", "activate", "deactivate"];
const DEPTH_MAX = 12;

function mustBe(field: string, value: unknown, allowed: string, fits: boolean): void {
  if (value !== undefined && value !== null && !fits) throw new TypeError(`\`${field}\` of the component must be ${allowed}; it is ${kindOf(value)}`);
}

const text = (value: unknown): string | null => (typeof value === "string" ? value : typeof value === "number" ? String(value) : null);

export function describe(prepared: Prepared): Bag {
  const { component } = prepared;
  // Anything else would be left out without a word: a source without `run` emits its event.
  mustBe("run", component.run, "a function", typeof component.run === "function");
  mustBe("props", component.props, "an object", isObject(component.props));
  mustBe("methods", component.methods, "an object of functions", isObject(component.methods));
  mustBe("hooks", component.hooks, "an object of functions", isObject(component.hooks));
  const hooks = Object.entries(component.hooks ?? {});
  for (const [name, hook] of hooks) mustBe(`hooks.${name}`, hook, "a function", typeof hook === "function");
  const isHook = ([name, hook]: [string, unknown]) => HOOKS.includes(name) && typeof hook === "function";
  return {
    name: text(component.name),
    key: text(component.key),
    version: text(component.version),
    type: text(component.type),
    description: text(component.description),
    dedupe: text(component.dedupe),
    has_run: typeof component.run === "function",
    hooks: hooks.filter(isHook).map(([name]) => name),
    unknown_hooks: hooks.map(([name]) => name).filter((name) => !HOOKS.includes(name)),
    methods: functionsOf(component.methods).map(([name]) => name),
    has_additional_props: typeof component.additionalProps === "function",
    annotations: plain(component["annotations"], 0) ?? null,
    sample_emit: plain(component.sampleEmit, 0) ?? null,
    props: prepared.props.map((prop) => describeProp(prop, () => prepared.instance({}, {}))),
  };
}

/** Fields of an app prop that are the prop's, not the app's. */
const APP_FIELDS = ["label", "description", "optional", "hidden", "disabled", "reloadProps"];

/** Fields of a prop that may be functions, whose results are shown. */
const MADE_FIELDS = ["default", "label", "description", "content", "hidden", "disabled", "optional", "min", "max"];

/** `self`: the component's instance, with whatever values there are. */
export function describeProp(prop: ResolvedProp, self: () => Bag): Bag {
  if (prop.type === "app" || prop.type === "app[]") {
    const app = prop.app ?? prop.definition;
    const shown: Bag = { name: prop.name, type: prop.type, app: text(app["app"]) };
    for (const field of APP_FIELDS) if (field in prop.definition) show(shown, prop, field, self);
    return shown;
  }
  const shown: Bag = { name: prop.name, type: prop.type };
  for (const [field, value] of Object.entries(prop.definition)) {
    // `name` and `type` are ours to say.
    if (field === "type" || field === "name" || field === "propDefinition" || field === "dependsOn") continue;
    if (field === "options" && typeof value === "function") shown["remoteOptions"] = true;
    else if (field === "eventNames" && typeof value === "function") shown["remoteEventNames"] = true;
    else show(shown, prop, field, self);
  }
  const dependsOn = namesOf(prop.definition["dependsOn"]) ?? (shown["remoteOptions"] === true ? dependenciesOf(prop, self) : []);
  if (dependsOn.length > 0) shown["dependsOn"] = dependsOn;
  return shown;
}

/** Names that the component's author wrote. */
function namesOf(given: unknown): string[] | undefined {
  return Array.isArray(given) && given.every((name) => typeof name === "string") ? given : undefined;
}

function show(shown: Bag, prop: ResolvedProp, field: string, self: () => Bag): void {
  const value = prop.definition[field];
  if (typeof value === "function" && MADE_FIELDS.includes(field)) {
    // The result of an async function would come too late to be shown; it is not called for nothing.
    if (!types.isAsyncFunction(value)) made(shown, field, () => (value as Fn).call(ownerOf(self(), prop.from?.get(field))));
    return;
  }
  const data = plain(value, 0);
  if (data !== undefined) shown[field] = data;
}

/** A field that is a function: its result, where that is no promise. */
function made(shown: Bag, field: string, value: () => unknown): void {
  try {
    const given = value();
    if (given instanceof Promise) return void given.catch(() => {});
    const data = plain(given, 0);
    if (data !== undefined && data !== null) shown[field] = data;
  } catch {
    // It needs what only a run has: there is nothing to show.
  }
}

/** JSON of a value; functions, symbols and cycles are left out. */
function plain(value: unknown, depth: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value === "bigint") return value.toString();
  if (typeof value !== "object" || depth > DEPTH_MAX) return undefined;
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1) ?? null);
  if (value instanceof Date) return Number.isNaN(value.getTime()) ? null : value.toISOString();
  const out: Bag = {};
  for (const [key, item] of Object.entries(value)) {
    const data = plain(item, depth + 1);
    if (data !== undefined) out[key] = data;
  }
  return out;
}
