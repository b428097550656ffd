/** Queries of a source's events, and their count between two of them. */

import { infiniteQueryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { isOlder } from "~/api/events";
import { PAGE_MAX } from "~/api/queries";
import type { EventSummary } from "~/api/schema";

/** `q` is asked for over the newest events of the server, not over those shown. */
export const eventsQuery = (source: string, q = "") =>
  infiniteQueryOptions({
    queryKey: q === "" ? ["source", source, "events"] : ["source", source, "events", q],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      body(
        client.GET("/v1/sources/{id}/event_summaries", {
          params: {
            path: { id: source },
            query: {
              limit: PAGE_MAX,
              after: pageParam,
              include: "id,indexed_at_ms,metadata",
              ...(q === "" ? {} : { q }),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (last) =>
      last.data.length < PAGE_MAX ? undefined : (last.page_info.end_cursor ?? undefined),
  });

/** Events between those that a list shows and the newest that was seen before: ids alone, as many pages as it takes. */
export async function countBetween(
  source: string,
  after: string | null,
  seen: string,
): Promise<{ count: number; isAll: boolean }> {
  let count = 0;
  let cursor = after;
  for (let page = 0; cursor !== null && page < BETWEEN_PAGES_MAX; page += 1) {
    const query = { limit: PAGE_MAX, after: cursor, include: "id" };
    const found = await body(
      client.GET("/v1/sources/{id}/event_summaries", { params: { path: { id: source }, query } }),
    );
    const at = found.data.findIndex(({ id }) => id === seen || isOlder(id, seen));
    if (at >= 0) return { count: count + at, isAll: true };
    count += found.data.length;
    cursor = found.data.length < PAGE_MAX ? null : found.page_info.end_cursor;
  }
  // The server pruned some of them before they were counted.
  return { count, isAll: false };
}

const BETWEEN_PAGES_MAX = 50;

/** The summary of an event, as its code gave it. */
export function summaryOf(event: Pick<EventSummary, "metadata">): string {
  const { summary, id } = event.metadata;
  if (typeof summary === "string" && summary !== "") return summary;
  return id === undefined || id === null ? "" : String(id);
}
