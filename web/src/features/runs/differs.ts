/**
 * Differences between two JSON values, by path: used to compare a failed run with one that
 * succeeded. Pure.
 */

import { WrittenNumber } from "~/json/exact";
import { isContainer, type Path, pathText, typeOf } from "~/ui/json/model";

export type Difference = {
  kind: "gone" | "added" | "changed";
  path: string;
  before: unknown;
  after: unknown;
};

const DEEPEST = 12;
/** Members of a list that are looked at. */
const WIDEST = 50;
/** Names whose values differ in every event. */
const ALWAYS =
  /(^|_|[a-z])(id|ids|ts|time|timestamp|date|created|updated|at|ms|trace|nonce|signature)$/i;

/** `base` begins the paths; `all`: also values of names that differ in every event, and long ones. */
type Look = { base: string; all: boolean; found: Difference[] };

/** All that is different, in the order of the first. */
export function everyDifference(
  before: unknown,
  after: unknown,
  base: string,
  most: number,
): Difference[] {
  const look: Look = { base, all: true, found: [] };
  walk(before, after, [], look);
  return look.found.slice(0, most);
}

export function differencesOf(before: unknown, after: unknown, most = 8): Difference[] {
  const look: Look = { base: "event", all: false, found: [] };
  walk(before, after, [], look);
  const { found } = look;
  // What is there or not says more than a value that changed.
  const shape = found.filter(({ kind }) => kind !== "changed");
  const values = found.filter(({ kind }) => kind === "changed");
  return [...shape, ...values].slice(0, most);
}

function walk(before: unknown, after: unknown, path: Path, look: Look): void {
  if (path.length > DEEPEST || isSame(before, after)) return;
  const say = (kind: Difference["kind"]) =>
    look.found.push({ kind, path: pathText(look.base, path), before, after });
  if (isContainer(before) && isContainer(after) && Array.isArray(before) === Array.isArray(after)) {
    const names = Array.isArray(before)
      ? [...Array(Math.min(WIDEST, Math.max(sizeOf(before), sizeOf(after)))).keys()]
      : [...new Set([...Object.keys(before), ...Object.keys(after)])];
    for (const name of names) {
      const [one, other] = [memberOf(before, name), memberOf(after, name)];
      if (one === undefined && other === undefined) continue;
      walk(one, other, [...path, name], look);
    }
    return;
  }
  if (before === undefined) say("added");
  else if (after === undefined) say("gone");
  else if (typeOf(before) !== typeOf(after)) say("changed");
  else if (look.all) say("changed");
  else if (!ALWAYS.test(String(path.at(-1) ?? "")) && String(before).length < 200) say("changed");
}

function sizeOf(value: object): number {
  return Array.isArray(value) ? value.length : Object.keys(value).length;
}

function memberOf(value: object, name: string | number): unknown {
  return Object.getOwnPropertyDescriptor(value, name)?.value;
}

function isSame(one: unknown, other: unknown): boolean {
  const areWritten = one instanceof WrittenNumber && other instanceof WrittenNumber;
  return one === other || (areWritten && one.text === other.text);
}
