/** Definitions of props (spec 2.7), read from `configurable_props`. */

import { isObject, type JsonObject, listOf, numberOf, textOf } from "./json";

export type Option = { label: string; value: unknown };

export type PropDef = {
  name: string;
  /** As written, such as `string[]` or `$.interface.timer`; types that are not known are kept. */
  type: string;
  label: string;
  description?: string | undefined;
  optional: boolean;
  secret: boolean;
  hidden: boolean;
  disabled: boolean;
  /** Choosing a value makes the component say its props again. */
  reloads: boolean;
  /** Options that do not change, or `undefined`. */
  options?: Option[] | undefined;
  /** The component's code is asked for options. */
  asksOptions: boolean;
  /** The options method takes what was typed. */
  searches: boolean;
  /** Props whose values the options method is fed with. */
  dependsOn?: string[] | undefined;
  withLabel: boolean;
  default?: unknown;
  /** A value that the component fixes. */
  fixed?: unknown;
  min?: number | undefined;
  max?: number | undefined;
  /** Slug of the app, of `app` props. */
  app?: string | undefined;
  alert?: { kind: string; content: string } | undefined;
};

export function propsOf(given: unknown): PropDef[] {
  return listOf(given).flatMap((each) => {
    const name = isObject(each) ? textOf(each.name) : undefined;
    return isObject(each) && name !== undefined ? [propOf(name, each)] : [];
  });
}

function propOf(name: string, given: Record<string, unknown>): PropDef {
  const type = textOf(given.type) ?? "string";
  const options = Array.isArray(given.options) ? optionsOf(given.options) : undefined;
  return {
    name,
    type,
    label: labelOf(given.label) ?? name,
    description: textOf(given.description),
    optional: given.optional === true,
    secret: given.secret === true,
    hidden: given.hidden === true,
    disabled: given.disabled === true,
    reloads: given.reloadProps === true,
    options,
    asksOptions: given.remoteOptions === true,
    searches: given.useQuery === true,
    dependsOn: Array.isArray(given.dependsOn) ? given.dependsOn.map(String) : undefined,
    withLabel: given.withLabel === true,
    default: given.default,
    fixed: given.static,
    min: numberOf(given.min),
    max: numberOf(given.max),
    app: textOf(given.app),
    alert:
      type === "alert"
        ? { kind: textOf(given.alertType) ?? "info", content: textOf(given.content) ?? "" }
        : undefined,
  };
}

/** A label that can be seen: one of blanks names nothing. */
export function labelOf(given: unknown): string | undefined {
  const label = textOf(given);
  return label === undefined || label.trim() === "" ? undefined : label;
}

/** Options as code gives them: plain values, or objects of label and value. */
export function optionsOf(given: unknown): Option[] {
  return listOf(given).map((each) => {
    if (isObject(each) && "value" in each) {
      return { label: labelOf(each.label) ?? shown(each.value), value: each.value };
    }
    return { label: shown(each), value: each };
  });
}

function shown(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

/** Whether a value must be given: mirrors what a deploy refuses. */
export function isRequired(prop: PropDef): boolean {
  if (prop.optional || prop.hidden || prop.disabled) return false;
  if (prop.default !== undefined || prop.fixed !== undefined) return false;
  if (prop.type === "$.interface.timer") return true;
  return !(
    prop.type.startsWith("$.") ||
    ["alert", "dir", "app", "app[]", "http_request", "data_store", "sql"].includes(prop.type)
  );
}

/** What the server found wrong with each prop, from the details of a refusal. */
export function problemsOf(details: JsonObject): Record<string, string> {
  const problems: Record<string, string> = {};
  for (const each of listOf(details.props)) {
    if (!isObject(each)) continue;
    const prop = textOf(each.prop);
    const problem = textOf(each.problem);
    if (prop !== undefined && problem !== undefined) problems[prop] = problem;
  }
  return problems;
}
