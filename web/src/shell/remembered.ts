/** Choices of a person by name, such as the columns of a list: the browser's copy is shown at once, the server's follows. */

import { useSyncExternalStore } from "react";
import { names, read, write } from "./local";
import { prefer } from "./preferences";

const PREFIX = "millrace.choice.";
/** Whose choices this browser has. */
const OWNER = "millrace.choices-of";
const listeners = new Set<() => void>();

/** Makes a choice, here and in every other browser of the person; the empty text is none. */
export function remember(name: string, choice: string): void {
  take(name, choice);
  prefer(PREFIX + name, choice);
}

/** As {@link remember}, for what other browsers do not need: only this one has it, until another person signs in. */
export function rememberHere(name: string, choice: string): void {
  take(name, choice);
}

/** What a person chose elsewhere; what was chosen nowhere stays as this browser has it, unless it is another's. */
export function takeRemembered(
  person: string,
  preferences: Readonly<Record<string, unknown>>,
): void {
  const before = read(OWNER);
  if (before !== null && before !== person) forgetAll();
  write(OWNER, person);
  for (const [key, choice] of Object.entries(preferences)) {
    if (key.startsWith(PREFIX) && typeof choice === "string")
      take(key.slice(PREFIX.length), choice);
  }
}

function forgetAll(): void {
  for (const key of names()) if (key.startsWith(PREFIX)) write(key, null);
  for (const each of listeners) each();
}

function take(name: string, choice: string): void {
  if ((read(PREFIX + name) ?? "") === choice) return;
  write(PREFIX + name, choice === "" ? null : choice);
  for (const each of listeners) each();
}

export function remembered(name: string): string {
  return read(PREFIX + name) ?? "";
}

export function useRemembered(name: string): string {
  return useSyncExternalStore(subscribe, () => remembered(name));
}

function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}
