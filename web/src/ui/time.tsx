/** Relative times, which follow one clock; the exact time is shown on hover and focus. */

import { useSyncExternalStore } from "react";
import { ago, exact, minuteOrDay } from "./format";
import { Tip } from "./tip";

const TICK_MS = 10_000;

let now = Date.now();
const listeners = new Set<() => void>();
let timer: ReturnType<typeof setInterval> | undefined;

/** One clock for all relative times of the page. */
function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  timer ??= setInterval(() => {
    now = Date.now();
    for (const each of listeners) each();
  }, TICK_MS);
  return () => {
    listeners.delete(listener);
    if (listeners.size === 0) {
      clearInterval(timer);
      timer = undefined;
    }
  };
}

export function useNow(): number {
  const seen = useSyncExternalStore(subscribe, () => now);
  // A page that was asleep must not show the time of its sleep.
  return Math.max(seen, now);
}

/** A relative time; the exact one on hover and focus. */
export function When({ at, short = false }: { at: number; short?: boolean }) {
  const shown = useNow();
  return (
    <Tip text={exact(at)}>
      <time className="num nowrap" dateTime={new Date(at).toISOString()}>
        {short ? minuteOrDay(at, Math.max(shown, at)) : ago(Math.min(at, shown), shown)}
      </time>
    </Tip>
  );
}

/** A time to come. */
export function Until({ at }: { at: number }) {
  const shown = useNow();
  return (
    <Tip text={exact(at)}>
      <time className="num nowrap" dateTime={new Date(at).toISOString()}>
        {at <= shown ? "now" : ago(at, shown)}
      </time>
    </Tip>
  );
}
