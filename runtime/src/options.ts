// Async options and additionalProps: what an editor asks while props are filled in (spec 2.7.1).
import type { CallContext } from "./context.ts";
import { describeProp } from "./describe.ts";
import type { Prepared } from "./instance.ts";
import { plainValue, resolveProps, type ResolvedProp } from "./props.ts";
import { sourceInstance } from "./source.ts";
import type { Bag, CallFrame, Fn } from "./types.ts";

export async function runOptions(prepared: Prepared, frame: CallFrame, call: CallContext): Promise<unknown> {
  const props = (frame["props"] ?? {}) as Bag;
  const self = sourceInstance(prepared, props, call);
  const prop = await findProp(prepared, String(frame["prop"]), self);
  const options = prop?.definition["options"];
  if (typeof options !== "function") return { options: normalize(options), context: null };
  const inputs = prop?.from?.inputs;
  const configured = Object.fromEntries(Object.entries(props).map(([name, value]) => [name, plainValue(value)]));
  const given = typeof inputs === "function" ? (inputs as Fn)(configured) : inputs;
  const owner = prop?.from ? (self[prop.from.appProp] ?? self) : self;
  const asked = { page: frame["page"] ?? 0, prevContext: frame["prev_context"] ?? {}, query: frame["query"], ...(given as Bag | undefined) };
  const found = await (options as Fn).call(owner, asked);
  if (found !== null && typeof found === "object" && !Array.isArray(found)) {
    return { options: normalize((found as Bag)["options"]), context: (found as Bag)["context"] ?? null };
  }
  return { options: normalize(found), context: null };
}

/** A prop of the component, or one that additionalProps declares: those hold closures and are made anew. */
async function findProp(prepared: Prepared, name: string, self: Bag): Promise<ResolvedProp | undefined> {
  const fixed = prepared.props.find((p) => p.name === name);
  if (fixed || !prepared.component.additionalProps) return fixed;
  const added = await prepared.component.additionalProps.call(self, { ...prepared.component.props });
  return resolveProps({ ...prepared.component.props, ...(added as Bag) }).find((p) => p.name === name);
}

function normalize(options: unknown): unknown[] {
  if (!Array.isArray(options)) return [];
  return options.map((option: unknown) => (option !== null && typeof option === "object" ? option : { label: String(option), value: option }));
}

export async function runAdditionalProps(prepared: Prepared, frame: CallFrame, call: CallContext): Promise<unknown> {
  const { component } = prepared;
  if (!component.additionalProps) return { props: prepared.props.map(describeProp) };
  const self = sourceInstance(prepared, (frame["props"] ?? {}) as Bag, call);
  // Code changes the definitions it is given: a copy, and what it did to it counts.
  const definitions: Bag = {};
  for (const [name, value] of Object.entries(component.props ?? {})) {
    definitions[name] = value !== null && typeof value === "object" && (value as Bag)["type"] !== "app" ? { ...value } : value;
  }
  const added = await component.additionalProps.call(self, definitions);
  return { props: resolveProps({ ...definitions, ...(added as Bag) }).map(describeProp) };
}
