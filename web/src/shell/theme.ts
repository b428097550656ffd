/** Theme of this browser: the system's, or one chosen here. */

import { useSyncExternalStore } from "react";
import { read, write } from "./local";

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

export function setTheme(next: Theme): void {
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
