/** The theme: the system's, or one that the person chose. */

import { useSyncExternalStore } from "react";
import { read, write } from "./local";
import { prefer } from "./preferences";

const THEMES = ["system", "light", "dark"] as const;
export type Theme = (typeof THEMES)[number];

const KEY = "millrace.theme";
const listeners = new Set<() => void>();
let theme: Theme = THEMES.find((each) => each === read(KEY)) ?? "system";
apply();

function apply(): void {
  const root = document.documentElement;
  if (theme === "system") delete root.dataset.theme;
  else root.dataset.theme = theme;
}

/** A choice of the person, here and in every other browser. */
export function setTheme(next: Theme): void {
  takeTheme(next);
  prefer("theme", next);
}

/** What was chosen elsewhere; where nothing was, this browser's stays. */
export function takeTheme(chosen: unknown): void {
  const next = THEMES.find((each) => each === chosen) ?? theme;
  if (next === theme) return;
  theme = next;
  write(KEY, next === "system" ? null : next);
  apply();
  for (const each of listeners) each();
}

export function useTheme(): Theme {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => theme,
  );
}

/** The next of the three, in a fixed order. */
export function nextTheme(now: Theme): Theme {
  return THEMES[(THEMES.indexOf(now) + 1) % THEMES.length] ?? "system";
}
