/** Dialogs with typed text ask before the browser's Back closes them with their page. */

import { useEffect, useRef } from "react";

/** Asks the person, and says whether the page stays until there is an answer. */
type Guard = () => boolean;

const guards = new Set<{ current: Guard }>();

export function useBackGuard(guard: Guard): void {
  const latest = useRef(guard);
  useEffect(() => {
    latest.current = guard;
  });
  useEffect(() => {
    guards.add(latest);
    return () => {
      guards.delete(latest);
    };
  }, []);
}

/** Whether something on the page asks first: the newest alone does, as it lies over the others. */
export function asksBeforeBack(): boolean {
  return [...guards].reverse().some(({ current }) => current());
}
