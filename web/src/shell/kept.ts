/**
 * Drafts that are not on the server yet, stored in this browser so that a reload or a crash loses
 * nothing.
 */

import { exactText, readExact } from "~/json/exact";
import { names, read, write } from "./local";

/** Begins the name of each in the browser's store. */
export const KEPT = "millrace.kept.";
/** Larger ones would fill the browser's store for the origin. */
const LONGEST = 512 * 1024;

export function keptOf(key: string): { at: number; value: unknown } | undefined {
  const text = read(KEPT + key);
  if (text === null) return undefined;
  try {
    const kept = readExact(text);
    if (typeof kept !== "object" || kept === null || !("at" in kept) || !("value" in kept)) {
      return undefined;
    }
    return typeof kept.at === "number" ? { at: kept.at, value: kept.value } : undefined;
  } catch {
    return undefined;
  }
}

/** Returns when it was kept, or `undefined` where it is too large. */
export function keep(key: string, value: unknown): number | undefined {
  const at = Date.now();
  const text = exactText({ at, value }) ?? "";
  if (text.length > LONGEST) return undefined;
  write(KEPT + key, text);
  return at;
}

/** Names of what is kept under a prefix, the newest first. */
export function keptUnder(prefix: string): string[] {
  return names()
    .filter((name) => name.startsWith(KEPT + prefix))
    .map((name) => name.slice(KEPT.length))
    .sort((one, other) => (keptOf(other)?.at ?? 0) - (keptOf(one)?.at ?? 0));
}

export function moveKept(from: string, to: string): void {
  write(KEPT + to, read(KEPT + from));
  forget(from);
}

const TAB = "millrace.tab";

/** A name of this tab, the same after a reload. A duplicate of a tab begins with its name. */
export function tabName(): string {
  try {
    return sessionStorage.getItem(TAB) ?? newTabName();
  } catch {
    return "one";
  }
}

/** Gives this tab a name that no other has. */
export function newTabName(): string {
  const made = Math.random().toString(36).slice(2, 10);
  sessionStorage.setItem(TAB, made);
  return made;
}

export function forget(key: string): void {
  write(KEPT + key, null);
}
