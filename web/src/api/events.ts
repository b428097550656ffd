/** One event of a source, whole: lists never hold events. */

import { queryOptions } from "@tanstack/react-query";
import { body, client } from "./client";
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

export const eventQuery = (source: string, id: string) =>
  queryOptions({
    queryKey: ["source", source, "event", id],
    queryFn: async ({ signal }): Promise<EventSummary> => {
      const { data } = await body(
        client.GET("/v1/sources/{id}/event_summaries", {
          params: {
            path: { id: source },
            query: { limit: 1, after: cursorBefore(id), expand: "event" },
          },
          signal,
        }),
      );
      const [event] = data;
      if (event === undefined || event.id !== id) throw new Error("This event was pruned.");
      return event;
    },
    staleTime: Number.POSITIVE_INFINITY,
    gcTime: 30_000,
  });
