/** Named values before and after: which differ. Pure. */

import { exactText } from "~/json/exact";
import { isContainer } from "./json/model";

export type Change = { name: string; before: unknown; after: unknown };

/** JSON with the names of each object in order: equal values have equal texts. */
export function stable(value: unknown): string {
  const ordered = (_: string, each: unknown) =>
    isContainer(each) && !Array.isArray(each)
      ? Object.fromEntries(Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1)))
      : each;
  return exactText(value, undefined, ordered) ?? "";
}

type Named = Readonly<Record<string, unknown>>;

/** Values that differ, in the order of `after`; what is gone stands last. `null` is a value that is not set. */
export function changesOf(before: Named, after: Named): Change[] {
  const names = new Set([...Object.keys(after), ...Object.keys(before)]);
  return [...names].flatMap((name) => {
    const [one, other] = [before[name] ?? undefined, after[name] ?? undefined];
    return isSame(one, other) ? [] : [{ name, before: one, after: other }];
  });
}

function isSame(one: unknown, other: unknown): boolean {
  const plain = [one, other].every((each) => each !== undefined && each !== SECRET);
  return one === other || (plain && stable(one) === stable(other));
}

/** A secret's value is known to nobody: whether there is one. */
export const SECRET = Symbol("secret");

export function valueText(value: unknown): string {
  if (value === SECRET) return "secret";
  if (value === undefined) return "not set";
  return typeof value === "string" ? value : (exactText(value, 2) ?? "");
}
