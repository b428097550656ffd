// Async options and additionalProps, called by an editor while props are filled in (spec 2.7.1).
import { previousOf, withAdditional } from "./additional.ts";
import type { CallContext } from "./context.ts";
import { describeProp } from "./describe.ts";
import { kindOf } from "./errors.ts";
import { bindApps, ownerOf, type Prepared } from "./instance.ts";
import { isObject, plainValue, put, type ResolvedProp } from "./props.ts";
import { sourceInstance } from "./source.ts";
import type { Bag, CallFrame, Fn } from "./types.ts";

interface Answer {
  options: unknown[];
  context: unknown;
  /** Why there are none yet: a prop that these depend on has no value. */
  not_ready?: string;
}

export async function runOptions(prepared: Prepared, frame: CallFrame, call: CallContext): Promise<Answer> {
  const name = String(frame["prop"]);
  const self = sourceInstance(prepared, frame, call);
  const prop = await findProp(prepared, name, frame, self);
  if (!prop) throw new Error(`the component has no prop \`${name}\``);
  const where = `the options of the prop \`${name}\``;
  // What an app hook listens for is asked for in the same way.
  const field = prop.type === "$.interface.apphook" ? "eventNames" : "options";
  const options = prop.definition[field];
  if (typeof options !== "function") return { options: listOf(options ?? [], where), context: null };
  let asked: Bag = {};
  try {
    // The nearest has the last word.
    for (let at = prop.levels.length - 1; at >= 0; at--) {
      const inputs = prop.levels[at]?.inputs;
      // It stands in the component, or in the definition of the level above.
      const given = typeof inputs === "function" ? await (inputs as Fn).call(ownerOf(self, prop.levels[at - 1]), configured(prepared, frame, self)) : inputs;
      asked = { ...asked, ...(given as Bag) };
    }
  } catch (error) {
    // It reads props that have no value yet.
    return { options: [], context: null, not_ready: error instanceof Error ? error.message : String(error) };
  }
  Object.assign(asked, { page: frame["page"] ?? 0, prevContext: frame["prev_context"] ?? {} });
  if (frame["query"] !== undefined && frame["query"] !== null) asked["query"] = frame["query"];
  const found = await (options as Fn).call(ownerOf(self, prop.from?.get(field)), asked);
  if (isObject(found) && ("options" in found || "context" in found)) {
    return { options: listOf(found["options"], where), context: found["context"] ?? null };
  }
  return { options: listOf(found, where), context: null };
}

/** What a function of the configured props reads: their values as code sees them, so that a data store is one. */
function configured(prepared: Prepared, frame: Bag, self: Bag): Bag {
  const values: Bag = {};
  for (const name of new Set([...prepared.props.map((prop) => prop.name), ...Object.keys((frame["props"] ?? {}) as Bag)])) {
    if (Object.hasOwn(self, name) && self[name] !== undefined) put(values, name, self[name]);
  }
  return values;
}

/**
 * A prop as additionalProps leaves it: what it declares holds closures and is made anew. One of the component's own that the
 * form's last answer of additionalProps does not name is asked without it: it may call an API. So is one where it fails, as it
 * does while values that it needs are missing.
 */
async function findProp(prepared: Prepared, name: string, frame: Bag, self: Bag): Promise<ResolvedProp | undefined> {
  const fixed = prepared.props.find((prop) => prop.name === name);
  if (typeof prepared.component.additionalProps !== "function") return fixed;
  const hasOptions = fixed !== undefined && ("options" in fixed.definition || "eventNames" in fixed.definition);
  if (hasOptions && !Object.hasOwn(previousOf(frame["previous"]), name)) return fixed;
  try {
    const { all } = await withAdditional(prepared, frame, self);
    bindApps(self, all, prepared, (frame["props"] ?? {}) as Bag);
    return all.find((prop) => prop.name === name) ?? fixed;
  } catch (error) {
    if (!hasOptions) throw error;
    return fixed;
  }
}

/** Options as `{label, value}`; what cannot be one is said clearly. */
function listOf(found: unknown, where: string): unknown[] {
  if (found === undefined || found === null) return [];
  if (!Array.isArray(found)) throw new TypeError(`${where} must be an array, or an object with \`options\` and \`context\`; got ${kindOf(found)}`);
  return found.flatMap((option: unknown, index) => {
    if (option === undefined || option === null) return [];
    if (typeof option === "string" || typeof option === "number" || typeof option === "boolean") return [{ label: String(option), value: option }];
    if (isObject(option) && "__lv" in option) option = plainValue(option, true);
    if (!isObject(option) || !("value" in option || "label" in option)) {
      throw new TypeError(`${where}: the one at ${index} must be a string, a number, or an object with \`label\` and \`value\`; got ${kindOf(option)}`);
    }
    // Null is a value: a choice of none.
    const value = option["value"] === undefined ? option["label"] : option["value"];
    if (typeof value === "function" || typeof value === "symbol" || typeof value === "bigint") {
      throw new TypeError(`${where}: the value of the one at ${index} is ${kindOf(value)}, which is not JSON-serializable`);
    }
    return [{ ...option, label: String(option["label"] ?? option["name"] ?? value), value }];
  });
}

export async function runAdditionalProps(prepared: Prepared, frame: CallFrame, call: CallContext): Promise<unknown> {
  if (typeof prepared.component.additionalProps !== "function") return { props: prepared.props.map((prop) => describeProp(prop, () => sourceInstance(prepared, frame, call))), dynamic_props: [] };
  const self = sourceInstance(prepared, frame, call);
  const { all, added } = await withAdditional(prepared, frame, self);
  const props = all.map((prop) => describeProp(prop, () => self));
  return { props, dynamic_props: props.filter((_, index) => added.has(all[index]?.name ?? "")) };
}
