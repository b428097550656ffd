/** Relative times, which follow one clock; the exact time is shown on hover and focus. */

import { useRef, useState, useSyncExternalStore } from "react";
import { ago, exact, minuteOrDay } from "./format";
import { TipAt } from "./tip";

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
    <Time
      at={at}
      says={short ? minuteOrDay(at, Math.max(shown, at)) : ago(Math.min(at, shown), shown)}
    />
  );
}

/** A time to come. */
export function Until({ at }: { at: number }) {
  const shown = useNow();
  return <Time at={at} says={at <= shown ? "now" : ago(at, shown)} />;
}

/** Its tip is made once the pointer is there: lists have many times, and a tip costs most of a row. */
function Time({ at, says }: { at: number; says: string }) {
  const place = useRef<HTMLTimeElement>(null);
  const [isPointedAt, setPointedAt] = useState(false);
  return (
    <>
      <time
        ref={place}
        className="num nowrap"
        dateTime={new Date(at).toISOString()}
        onPointerEnter={() => setPointedAt(true)}
        onPointerLeave={() => setPointedAt(false)}
      >
        {says}
      </time>
      {isPointedAt && <TipAt anchor={place} text={exact(at)} onClose={() => setPointedAt(false)} />}
    </>
  );
}
