/** Speed of a live tail: events per second, and the number that arrived too fast for the list. */

import { useEffect, useRef, useState } from "react";
import { isOlder } from "~/api/events";
import type { EventSummary } from "~/api/schema";
import { count } from "~/ui/format";
import { countBetween } from "./events-query";

/** Time that the rate is taken of. */
const WINDOW_MS = 10_000;

type Event = Pick<EventSummary, "id" | "indexed_at_ms">;

/** Events per second over the last ten; where the list does not reach back that far, over what it has. */
export function rateOf(events: readonly Event[], now: number): number {
  const lately = events.filter(({ indexed_at_ms }) => now - indexed_at_ms <= WINDOW_MS);
  const oldest = lately.at(-1);
  if (oldest === undefined) return 0;
  // The list is cut: it spans less than the window.
  const span = lately.length === events.length ? now - oldest.indexed_at_ms : WINDOW_MS;
  return (1_000 * lately.length) / Math.max(span, 1_000);
}

/** `isAll`: none was pruned by the server before it was counted. */
export type Skipped = { count: number; isAll: boolean };

const NONE: Skipped = { count: 0, isAll: true };

/** How many were never shown, in words; nothing where all were. */
export function skippedWords({ count: skipped, isAll }: Skipped): string | undefined {
  if (skipped === 0 && isAll) return undefined;
  const many = skipped === 0 ? "some" : isAll ? count(skipped) : `${count(skipped)} or more`;
  return `${many} skipped: they arrived too fast for this list, or while it was paused`;
}

/** How many events came between the newest that was shown and the oldest that is shown now. */
export function useSkipped(
  source: string,
  events: readonly Event[],
  end: string | null,
  /** False while only what was searched for is listed. */
  isWhole: boolean,
): { skipped: Skipped; reset: () => void } {
  const [skipped, setSkipped] = useState<Skipped>(NONE);
  const seen = useRef<string | undefined>(undefined);
  const newest = events[0]?.id;
  const oldest = events.at(-1)?.id;
  useEffect(() => {
    const before = seen.current;
    // What comes during a pause or a search is counted when the list goes on.
    if (newest === undefined || !isWhole) return;
    seen.current = newest;
    if (before === undefined || oldest === undefined || !isOlder(before, oldest)) return;
    void countBetween(source, end, before).then(
      ({ count, isAll }) =>
        setSkipped((had) => ({ count: had.count + count, isAll: had.isAll && isAll })),
      // Counted again with the next events.
      () => {
        if (seen.current === newest) seen.current = before;
      },
    );
  }, [source, newest, oldest, end, isWhole]);
  return { skipped, reset: () => setSkipped(NONE) };
}
