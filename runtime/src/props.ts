// Prop definitions: shorthand expanded, propDefinitions merged, apps found. Module objects are never changed.
import type { Bag } from "./types.ts";

/** A definition after merging; `app` is set where the prop is an app, `owner` where a propDefinition came from one. */
export interface ResolvedProp {
  name: string;
  type: string;
  definition: Bag;
  app?: Bag;
  /** Name of the app prop whose propDefinition this is, with what feeds its options. */
  from?: { appProp: string; inputs: unknown };
}

const isObject = (value: unknown): value is Bag => value !== null && typeof value === "object" && !Array.isArray(value);

function isApp(value: unknown): boolean {
  return isObject(value) && value["type"] === "app";
}

/** An object spread from a module namespace or a frozen one is fine: only reads. */
export function resolveProps(props: unknown): ResolvedProp[] {
  if (!isObject(props)) return [];
  const resolved: ResolvedProp[] = [];
  const appProps = new Map<unknown, string>();
  for (const [name, value] of Object.entries(props)) {
    if (isObject(value) && isApp(value)) {
      appProps.set(value, name);
      if (typeof value["app"] === "string" && !appProps.has(value["app"])) appProps.set(value["app"], name);
    }
  }
  for (const [name, value] of Object.entries(props)) {
    const one = resolveProp(name, value, appProps);
    if (one) resolved.push(one);
  }
  return resolved;
}

function resolveProp(name: string, value: unknown, appProps: Map<unknown, string>): ResolvedProp | undefined {
  if (typeof value === "string") return { name, type: value, definition: { type: value } };
  if (!isObject(value)) return undefined;
  if (isApp(value)) return { name, type: "app", definition: value, app: value };
  let definition = value;
  let from: ResolvedProp["from"];
  let type = definition["type"];
  // Definitions may build on others, a few levels deep.
  for (let depth = 0; depth < 8 && Array.isArray(definition["propDefinition"]); depth++) {
    const [app, defName, inputs] = definition["propDefinition"] as unknown[];
    const base = isObject(app) ? (app["propDefinitions"] as Bag | undefined)?.[String(defName)] : undefined;
    const { propDefinition: _used, ...own } = definition;
    from ??= { appProp: appProps.get(app) ?? appProps.get(isObject(app) ? app["app"] : undefined) ?? "", inputs };
    definition = isObject(base) ? { ...base, ...own } : own;
    type = definition["type"];
  }
  return { name, type: typeof type === "string" ? type : "string", definition, from };
}

/** `{__lv: {label, value}}` reaches code as `{label, value}`. */
export function plainValue(value: unknown): unknown {
  return isObject(value) && isObject(value["__lv"]) && Object.keys(value).length === 1 ? value["__lv"] : value;
}
