/** Completion of names by what they hold: members of an object, with a sample of each value. Pure. */

import { exactText } from "~/json/exact";
import { isContainer } from "../json/model";
export type Known = Readonly<Record<string, unknown>>;

export type Option = {
  label: string;
  /** What is inserted in place of the label, and of the dot before it: names that are not written with a dot. Its quotes are none of JSON. */
  bracket?: string;
  /** The value, in short. */
  detail: string;
  type: string;
};

const SAMPLE = 40;
const OPTIONS_MAX = 200;

/** A path that ends here: a name, members by dots, places in lists. */
const PATH = /[A-Za-z_$][\w$]*(?:\??\.[A-Za-z_$][\w$]*|\[\d+\])*\??\.?$/;

/** What may follow the text before the cursor, from which column on; `undefined` where nothing is known. */
export function completionOf(
  known: Known,
  before: string,
): { from: number; options: Option[] } | undefined {
  const path = PATH.exec(before)?.[0];
  if (path === undefined) return undefined;
  const at = before.length - path.length;
  // `x.steps.` and `"steps.` are other things than the name `steps`.
  if (/[.\w$]$/.test(before.slice(0, at))) return undefined;
  const parts = path.split(/\??\./);
  const typed = parts.pop() ?? "";
  if (parts.length === 0) {
    // The first letters of a name.
    const names = Object.keys(known).filter((name) => name.startsWith(typed) && name !== typed);
    if (names.length === 0) return undefined;
    return { from: at, options: names.map((name) => optionOf(name, known[name])) };
  }
  let value: unknown = known;
  for (const part of parts) value = stepInto(value, part);
  if (typeof value !== "object" || value === null || Array.isArray(value)) return undefined;
  // What a member holds is not known, but for words about it.
  if (value instanceof Says) return undefined;
  const options = Object.entries(value)
    .slice(0, OPTIONS_MAX)
    .map(([name, member]) => optionOf(name, member));
  return options.length === 0 ? undefined : { from: before.length - typed.length, options };
}

/** All names that code may begin with. */
export function namesOf(known: Known): Option[] {
  return Object.keys(known).map((name) => optionOf(name, known[name]));
}

/** The dot that goes where a name is written in brackets; `?.` stays before these. */
export function dotBefore(text: string): 0 | 1 {
  return text.endsWith(".") && !text.endsWith("?.") ? 1 : 0;
}

/** `lines[0]`, `body`: a member, and places within it. */
function stepInto(value: unknown, part: string): unknown {
  const name = /^[^[]*/.exec(part)?.[0] ?? "";
  let next = member(value, name);
  for (const [, place = ""] of part.matchAll(/\[(\d+)\]/g)) {
    next = Array.isArray(next) ? next[Number(place)] : undefined;
  }
  return next;
}

function member(value: unknown, name: string): unknown {
  if (!isContainer(value) || value instanceof Says) return undefined;
  return Object.entries(value).find(([each]) => each === name)?.[1];
}

function optionOf(name: string, value: unknown): Option {
  const isName = /^[A-Za-z_$][\w$]*$/.test(name);
  return {
    label: name,
    ...(isName ? {} : { bracket: `['${name.replaceAll(/[\\']/g, "\\$&")}']` }),
    detail: sampleOf(value),
    type: "property",
  };
}

/** A word that says what a function does stands for it in what is known. */
export class Says {
  constructor(readonly words: string) {}
}

function sampleOf(value: unknown): string {
  if (value instanceof Says) return value.words;
  if (Array.isArray(value)) return `[${value.length}]`;
  if (isContainer(value)) {
    const names = Object.keys(value);
    const head = names.slice(0, 3).join(", ");
    return names.length > 3 ? `{ ${head}, … }` : `{ ${head} }`;
  }
  const text = exactText(value) ?? "undefined";
  return text.length > SAMPLE ? `${text.slice(0, SAMPLE - 1)}…` : text;
}
