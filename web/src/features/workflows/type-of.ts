/** TypeScript's type of a value, by the value: what code may read of the data at hand. Pure. */

import { exactText, WrittenNumber } from "~/json/exact";
import { isContainer } from "~/ui/json/model";

const DEPTH_MOST = 12;
const MEMBERS_MOST = 200;
/** Elements of a list that are looked at. */
const ELEMENTS_MOST = 50;
/** Members of one type, all levels together. */
const ALL_MOST = 3_000;
const SAMPLE = 60;

type Budget = { left: number };

export function typeOf(value: unknown): string {
  return typeOfAll([value], 0, { left: ALL_MOST });
}

/** One type for values that stand in the same place. */
function typeOfAll(values: readonly unknown[], depth: number, budget: Budget): string {
  const kinds = new Set<string>();
  const objects: object[] = [];
  const lists: unknown[][] = [];
  for (const value of values) {
    // What is null here says nothing of what it is elsewhere.
    if (value === null || value === undefined) return "any";
    if (value instanceof WrittenNumber) kinds.add("number");
    else if (Array.isArray(value)) lists.push(value);
    else if (typeof value === "object") objects.push(value);
    else kinds.add(typeof value);
  }
  if (depth > DEPTH_MOST || budget.left <= 0) return "any";
  const types = [...kinds];
  if (objects.length > 0) types.push(typeOfObjects(objects, depth, budget));
  if (lists.length > 0) {
    const elements = lists.flatMap((list) => list.slice(0, ELEMENTS_MOST)).slice(0, ELEMENTS_MOST);
    const element = elements.length === 0 ? "any" : typeOfAll(elements, depth + 1, budget);
    types.push(`Array<${element}>`);
  }
  return types.length === 0 ? "any" : types.join(" | ");
}

function typeOfObjects(objects: readonly object[], depth: number, budget: Budget): string {
  const members = new Map<string, unknown[]>();
  for (const object of objects) {
    for (const [name, value] of Object.entries(object)) {
      const had = members.get(name);
      if (had !== undefined) had.push(value);
      else members.set(name, [value]);
    }
  }
  const lines: string[] = [];
  for (const [name, values] of [...members].slice(0, MEMBERS_MOST)) {
    budget.left -= 1;
    const isOptional = values.length < objects.length;
    const type = typeOfAll(values, depth + 1, budget);
    lines.push(`${sampleOf(values[0])}${named(name)}${isOptional ? "?" : ""}: ${type};`);
  }
  // Where not all is said, more may be there.
  if (members.size > MEMBERS_MOST || budget.left <= 0) lines.push("[name: string]: any;");
  // A comment is of the member below it, and none where it ends a line that something else began.
  return `{\n${lines.join("\n")}\n}`;
}

function named(name: string): string {
  return /^[A-Za-z_$][\w$]*$/.test(name) ? name : JSON.stringify(name);
}

/** The value beside its type, as its documentation. */
function sampleOf(value: unknown): string {
  if (value === null || isContainer(value)) return "";
  const text = exactText(value) ?? "undefined";
  const short = text.length > SAMPLE ? `${text.slice(0, SAMPLE - 1)}…` : text;
  return `/** ${short.replaceAll("*/", "* /")} */ `;
}
