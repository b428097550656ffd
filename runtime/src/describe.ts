// What a module says of itself, as JSON: functions become markers.
import type { Prepared } from "./instance.ts";
import { functionsOf } from "./instance.ts";
import type { ResolvedProp } from "./props.ts";
import type { Bag } from "./types.ts";

const HOOKS = ["deploy", "activate", "deactivate"];
const DEPTH_MAX = 12;

const text = (value: unknown): string | null => (typeof value === "string" ? value : typeof value === "number" ? String(value) : null);

export function describe(prepared: Prepared): Bag {
  const { component } = prepared;
  return {
    name: text(component.name),
    key: text(component.key),
    version: text(component.version),
    type: text(component.type),
    description: text(component.description),
    dedupe: text(component.dedupe),
    has_run: typeof component.run === "function",
    hooks: functionsOf(component.hooks).map(([name]) => name).filter((name) => HOOKS.includes(name)),
    methods: functionsOf(component.methods).map(([name]) => name),
    has_additional_props: typeof component.additionalProps === "function",
    sample_emit: plain(component.sampleEmit, 0) ?? null,
    props: prepared.props.map(describeProp),
  };
}

export function describeProp(prop: ResolvedProp): Bag {
  if (prop.type === "app") return { name: prop.name, type: "app", app: text((prop.app ?? prop.definition)["app"]) };
  const shown: Bag = { name: prop.name, type: prop.type };
  for (const [field, value] of Object.entries(prop.definition)) {
    if (field === "type" || field === "propDefinition") continue;
    if (field === "options" && typeof value === "function") shown["remoteOptions"] = true;
    else if (field === "default" && typeof value === "function") continue;
    else {
      const data = plain(value, 0);
      if (data !== undefined) shown[field] = data;
    }
  }
  return shown;
}

/** JSON of a value; functions, symbols and cycles are left out. */
function plain(value: unknown, depth: number): unknown {
  if (value === null || typeof value === "string" || typeof value === "boolean") return value;
  if (typeof value === "number") return Number.isFinite(value) ? value : null;
  if (typeof value !== "object" || depth > DEPTH_MAX) return undefined;
  if (Array.isArray(value)) return value.map((item) => plain(item, depth + 1) ?? null);
  if (value instanceof Date) return value.toISOString();
  const out: Bag = {};
  for (const [key, item] of Object.entries(value)) {
    const data = plain(item, depth + 1);
    if (data !== undefined) out[key] = data;
  }
  return out;
}
