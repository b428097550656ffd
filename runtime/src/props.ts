// Prop definitions: shorthand expanded, propDefinitions merged, apps found. Module objects are
// never changed.
import type { Bag } from "./types.ts";

/** A propDefinition that a prop builds on. */
export interface Level {
  app: unknown;
  /** The component's prop of that app; empty where it has none. */
  appProp: string;
  /** What feeds the options: an object, or a function of the configured props. */
  inputs: unknown;
}

/** A definition after merging; `app` is set where the prop is an app. */
export interface ResolvedProp {
  name: string;
  type: string;
  definition: Bag;
  app?: Bag;
  /** What it builds on, the nearest first. */
  levels: Level[];
  /** The level that each field comes from; absent where it is the component's own. */
  from?: Map<string, Level>;
}

/** Definitions may build on others; deeper than this is a cycle. */
const LEVELS_MAX = 8;

/** Sets a property of the object itself; an assignment to `__proto__` would set its prototype. */
export function put(target: Bag, name: string, value: unknown): void {
  if (name === "__proto__") Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: true });
  else target[name] = value;
}

/** What an object itself has by a name; names of props may be those of `Object.prototype`. */
export const ownOf = (values: Bag, name: string): unknown => (Object.hasOwn(values, name) ? values[name] : undefined);

export const isObject = (value: unknown): value is Bag => value !== null && typeof value === "object" && !Array.isArray(value);

const isApp = (value: Bag): boolean => value["type"] === "app";

/**
 * An object spread from a module namespace or a frozen one is fine: only reads. `originals`: of definitions that are
 * copies, those that they were made of; references name an app by its own object.
 */
export function resolveProps(props: unknown, originals?: Map<unknown, unknown>): ResolvedProp[] {
  if (!isObject(props)) return [];
  const appProps = new Map<unknown, string>();
  for (const [name, value] of Object.entries(props)) {
    if (!isObject(value) || !isApp(value)) continue;
    appProps.set(value, name);
    if (originals?.has(value)) appProps.set(originals.get(value), name);
    if (typeof value["app"] === "string" && !appProps.has(value["app"])) appProps.set(value["app"], name);
  }
  return Object.entries(props).flatMap(([name, value]) => resolveProp(name, value, appProps) ?? []);
}

function resolveProp(name: string, value: unknown, appProps: Map<unknown, string>): ResolvedProp | undefined {
  if (typeof value === "string") return { name, type: value, definition: { type: value }, levels: [] };
  if (!isObject(value)) return undefined;
  if (isApp(value)) return { name, type: "app", definition: value, app: value, levels: [] };
  let definition = value;
  const levels: Level[] = [];
  const from = new Map<string, Level>();
  while (Array.isArray(definition["propDefinition"]) && levels.length < LEVELS_MAX) {
    const [app, defName, inputs] = definition["propDefinition"] as unknown[];
    const slug = isObject(app) ? app["app"] : undefined;
    const level = { app, appProp: appProps.get(app) ?? appProps.get(slug) ?? "", inputs };
    levels.push(level);
    const named = isObject(app) && isObject(app["propDefinitions"]) ? ownOf(app["propDefinitions"], String(defName)) : undefined;
    const base = typeof named === "string" ? { type: named } : isObject(named) ? named : {};
    const { propDefinition: _used, ...own } = definition;
    for (const field of Object.keys(base)) if (!(field in own)) from.set(field, level);
    definition = { ...base, ...own };
  }
  const type = definition["type"];
  return { name, type: typeof type === "string" ? type : "string", definition, levels, from };
}

/**
 * What code sees of a configured value. `{__lv: {label, value}}` may be sent for any prop: with `withLabel` code gets
 * `{label, value}`, otherwise the value; so does each item of a list.
 */
export function plainValue(value: unknown, withLabel: boolean): unknown {
  if (value === null || typeof value !== "object") return value;
  if (Array.isArray(value)) return value.some(isLabelled) ? value.map((item) => plainValue(item, withLabel)) : value;
  if (!isLabelled(value)) return value;
  const held = value["__lv"];
  const bare = (one: unknown): unknown => (!withLabel && isObject(one) && "value" in one ? one["value"] : one);
  return Array.isArray(held) ? held.map(bare) : bare(held);
}

function isLabelled(value: unknown): value is Bag {
  return isObject(value) && "__lv" in value && Object.keys(value).length === 1;
}
