/** Single event of a source with its payload, which lists leave out. */

import { queryOptions } from "@tanstack/react-query";
import { client, exactData } from "./client";
import type { EventSummary } from "./schema";

/** Cursor just before an event in the order of the list: ids are `milliseconds-number`. */
export function cursorBefore(id: string): string {
  const [ms = "0", number = "0"] = id.split("-");
  return `${ms}-${Number(number) + 1}`;
}

/** Whether an event came before another one. */
export function isOlder(id: string, than: string): boolean {
  const [[ms, number], [otherMs, otherNumber]] = [partsOf(id), partsOf(than)];
  return ms === otherMs ? number < otherNumber : ms < otherMs;
}

function partsOf(id: string): [number, number] {
  const [ms = "0", number = "0"] = id.split("-");
  return [Number(ms), Number(number)];
}

/**
 * `words`: what the event was found by. The server lists the newest 100 events of a source; a search reaches the newest
 * 2,000, and so an older event is read by the words that found it.
 */
export const eventQuery = (source: string, id: string, words = "") =>
  queryOptions({
    queryKey: ["source", source, "event", id],
    queryFn: async ({ signal }): Promise<EventSummary> => {
      const listed = await eventAt(source, id, "", signal);
      const event = listed ?? (words === "" ? undefined : await eventAt(source, id, words, signal));
      if (event === undefined) throw new Error(NOT_LISTED);
      return event;
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });

const NOT_LISTED =
  "It is not among the newest 100 events of its source, or it was pruned. “Search all” looks through the newest 2,000.";

async function eventAt(
  source: string,
  id: string,
  words: string,
  signal: AbortSignal,
): Promise<EventSummary | undefined> {
  const query = {
    limit: 1,
    after: cursorBefore(id),
    expand: "event" as const,
    ...(words === "" ? {} : { q: words }),
  };
  const params = { path: { id: source }, query };
  const [event] = await exactData<EventSummary[]>(
    client.GET("/v1/sources/{id}/event_summaries", { params, signal, parseAs: "text" }),
  );
  return event?.id === id ? event : undefined;
}
