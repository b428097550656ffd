/**
 * Values of a form while they are typed. A field keeps the text as it was typed, whatever it means; `read` says what
 * value that is, or what is wrong with it. Names of props may hold any sign, so the state is a map by name.
 */

import type { JsonObject } from "~/api/json";
import { isObject } from "~/api/json";
import { isRequired, type PropDef } from "~/api/props";
import { readPlainJson } from "~/ui/json/problem";

/** What a field holds: a value that was chosen, or text that still has to be read. */
export type Draft =
  | { kind: "value"; value: unknown; label?: string | undefined }
  | { kind: "text"; text: string }
  /** A list whose items are edited one by one. */
  | { kind: "items"; items: readonly string[] };

/** Text that a step evaluates when it runs, whatever the type of the prop. */
export function isExpression(draft: Draft | undefined): boolean {
  return draft?.kind === "text" && draft.text.includes("{{");
}

/** Whether a value has text, at any depth, that a step evaluates when it runs. */
export function hasExpression(value: unknown): boolean {
  if (typeof value === "string") return value.includes("{{");
  return typeof value === "object" && value !== null && Object.values(value).some(hasExpression);
}

export type Drafts = Readonly<Record<string, Draft | undefined>>;

export type Read = { value: unknown } | { problem: string };

/** Bytes of one static value (spec 8). */
export const VALUE_BYTES_MAX = 64 * 1024;

const GIVEN_BY_SERVER = ["$.interface.http", "$.interface.apphook", "$.service.db"];

export function isMadeByServer(prop: PropDef): boolean {
  return GIVEN_BY_SERVER.includes(prop.type);
}

/** Whether the value of the prop may be an expression. */
export function takesExpression(prop: PropDef): boolean {
  const never = ["app", "app[]", "data_store", "datastore", "dir", "alert"].includes(prop.type);
  return !never && !prop.secret && prop.fixed === undefined && !isMadeByServer(prop);
}

/** Whether the field of the prop is text in which values and expressions stand alike. */
export function isPlainText(prop: PropDef): boolean {
  return ["string", "sql"].includes(prop.type) && !hasOptions(prop);
}

/** Whether a value of the prop is chosen or has fields of its own: an expression needs another. */
function isChosen(prop: PropDef): boolean {
  const { type } = prop;
  return (
    hasOptions(prop) || type === "boolean" || type === "$.interface.timer" || type.endsWith("[]")
  );
}

/** Whether the prop has one field for values and another for expressions. */
export function switchesField(prop: PropDef): boolean {
  return takesExpression(prop) && isChosen(prop);
}

/**
 * Whether an expression is shown in the place of the control of the prop's type. It does not
 * depend on what is being typed: another control would take the focus from the person.
 */
export function isInOtherField(prop: PropDef, draft: Draft | undefined): boolean {
  if (switchesField(prop)) return draft?.kind === "text";
  return !takesExpression(prop) && !prop.secret && isExpression(draft);
}

/** How text of the prop is typed. */
export function isJson(prop: PropDef): boolean {
  return prop.type === "object" || prop.type === "any" || prop.type === "http_request";
}

/**
 * Whether text in a field of JSON is an expression as a whole: `{{steps.a}}`, or `Hello {{name}}`
 * where any value is allowed. JSON begins with none of these.
 */
function isBareExpression(prop: PropDef, text: string): boolean {
  if (!text.includes("{{")) return false;
  return text.trimStart().startsWith("{{") || (prop.type === "any" && !/^\s*[[{"]/.test(text));
}

/** Stored values of the drafts that show them: a field that nobody edits keeps its value exactly. */
const shownBy = new WeakMap<Draft, unknown>();

/** The draft that shows a stored value. */
export function draftOf(prop: PropDef, value: unknown, expressions = false): Draft | undefined {
  if (value === undefined || value === null) return undefined;
  const draft = shownAs(prop, value, expressions);
  shownBy.set(draft, value);
  return draft;
}

function shownAs(prop: PropDef, value: unknown, expressions: boolean): Draft {
  if (expressions && typeof value === "string" && value.includes("{{")) {
    // A text that looks like JSON is quoted where it may be both.
    const raw = prop.type !== "any" || isBareExpression(prop, value);
    return { kind: "text", text: raw ? value : JSON.stringify(value) };
  }
  if (isJson(prop)) return { kind: "text", text: JSON.stringify(value, null, 2) ?? "" };
  if (prop.type.endsWith("[]") && prop.type !== "app[]" && !hasOptions(prop)) {
    const items = Array.isArray(value) ? value : [value];
    return { kind: "items", items: items.map((item) => plainText(item)) };
  }
  const label = isObject(value) && typeof value.label === "string" ? value.label : undefined;
  if (["string", "integer", "sql", "dir"].includes(prop.type) && !hasOptions(prop)) {
    if (!isObject(value)) return { kind: "text", text: plainText(value) };
  }
  return { kind: "value", value, label };
}

function plainText(value: unknown): string {
  return typeof value === "string" ? value : (JSON.stringify(value) ?? "");
}

export function hasOptions(prop: PropDef): boolean {
  return prop.asksOptions || (prop.options !== undefined && prop.options.length > 0);
}

/** The value of a draft, `{ value: undefined }` where there is none. */
export function read(prop: PropDef, draft: Draft | undefined, expressions = false): Read {
  if (draft === undefined) return { value: undefined };
  const result = readDraft(prop, draft, expressions);
  if (!shownBy.has(draft)) return result;
  const value = shownBy.get(draft);
  // The server took what the form cannot read: a template that gives an object, for one.
  return "value" in result || (expressions && hasExpression(value)) ? { value } : result;
}

function readDraft(prop: PropDef, draft: Draft, expressions: boolean): Read {
  switch (draft.kind) {
    case "value":
      return sized(draft.value);
    case "text":
      if (expressions && isText(prop, draft.text)) return sized(draft.text);
      if (draft.text.trim() === "" && prop.type !== "string") return { value: undefined };
      return expressions ? readTyped(prop, draft.text) : readText(prop, prop.type, draft.text);
    case "items": {
      const type = prop.type.slice(0, -2);
      const values: unknown[] = [];
      for (const [index, item] of draft.items.entries()) {
        if (item === "" && type !== "string") continue;
        const result =
          expressions && item.includes("{{") ? sized(item) : readText(prop, type, item);
        if ("problem" in result) return { problem: `Item ${index + 1}: ${result.problem}` };
        values.push(result.value);
      }
      return values.length === 0 ? { value: undefined } : sized(values);
    }
  }
}

/** Whether text of a field goes to the step as it is, to be evaluated there. */
function isText(prop: PropDef, text: string): boolean {
  return isJson(prop) ? isBareExpression(prop, text) : text.includes("{{");
}

/** Reads text that is no expression as a whole, where it might be one. */
function readTyped(prop: PropDef, text: string): Read {
  if (isInOtherField(prop, { kind: "text", text }) && prop.type.endsWith("[]")) {
    return { problem: "This is not an expression. Allowed: JavaScript within {{ }}." };
  }
  const result = readText(prop, prop.type, text);
  return "problem" in result && isJson(prop) && /[:,[]\s*\{\{/.test(text)
    ? { problem: `${result.problem} In JSON, write an expression in quotes: "{{…}}".` }
    : result;
}

function readText(prop: PropDef, type: string, text: string): Read {
  switch (type) {
    case "integer":
      return readInteger(prop, text);
    case "boolean":
      return text === "true" || text === "false"
        ? { value: text === "true" }
        : { problem: `${text} is not true or false.` };
    case "object": {
      const result = readJson(text);
      if ("problem" in result || isObject(result.value)) return result;
      return { problem: "This is not an object. Allowed: names and values within { }." };
    }
    case "any":
    case "http_request":
      return readJson(text);
    default:
      return text === "" ? { value: undefined } : sized(text);
  }
}

const figures = new Intl.NumberFormat("en");

function readInteger(prop: PropDef, text: string): Read {
  const digits = text.trim().replaceAll(/[,_\u202f\s]/g, "");
  if (!/^[+-]?\d+$/.test(digits)) return { problem: `“${text}” is not a whole number.` };
  const value = Number(digits);
  const { min, max } = prop;
  if (!Number.isSafeInteger(value)) return { problem: `${text} is too large for a number.` };
  const allowed = rangeText(prop);
  if (max !== undefined && value > max) {
    return { problem: `${figures.format(value)} is above the maximum. Allowed: ${allowed}.` };
  }
  if (min !== undefined && value < min) {
    return { problem: `${figures.format(value)} is below the minimum. Allowed: ${allowed}.` };
  }
  return { value };
}

export function rangeText({ min, max }: Pick<PropDef, "min" | "max">): string | undefined {
  if (min !== undefined && max !== undefined)
    return `${figures.format(min)} to ${figures.format(max)}`;
  if (min !== undefined) return `${figures.format(min)} or more`;
  if (max !== undefined) return `${figures.format(max)} or less`;
  return undefined;
}

export function readJson(text: string): Read {
  const result = readPlainJson(text);
  return "problem" in result ? result : sized(result.value);
}

export function bytesOf(value: unknown): number {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return new TextEncoder().encode(text).length;
}

function sized(value: unknown): Read {
  const bytes = bytesOf(value);
  if (bytes <= VALUE_BYTES_MAX) return { value };
  return { problem: `${figures.format(bytes)} bytes exceed the limit. Allowed: 65,536.` };
}

export type Problems = Readonly<Record<string, string>>;

/** All values as the server takes them, and what is wrong with the rest. */
export function readAll(
  props: readonly PropDef[],
  drafts: Drafts,
  expressions = false,
): { values: JsonObject; problems: Problems; missing: string[] } {
  const values: JsonObject = {};
  const problems: Record<string, string> = {};
  const missing: string[] = [];
  for (const prop of props) {
    if (isMadeByServer(prop) || prop.type === "alert" || prop.fixed !== undefined) continue;
    const result = read(prop, drafts[prop.name], expressions);
    if ("problem" in result) problems[prop.name] = result.problem;
    else if (result.value !== undefined) values[prop.name] = result.value;
    else if (isRequired(prop)) missing.push(prop.name);
  }
  return { values, problems, missing };
}
