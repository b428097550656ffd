import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";
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

/** Cursor just before an event in the order of the list: ids are `milliseconds-number`. */
export function cursorBefore(id: string): string {
  const [ms = "0", number = "0"] = id.split("-");
  return `${ms}-${Number(number) + 1}`;
}

/** One event whole. Lists never hold events. */
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

/** The summary of an event, as its code gave it. */
export function summaryOf(event: Pick<EventSummary, "metadata">): string {
  const { summary, id } = event.metadata;
  if (typeof summary === "string" && summary !== "") return summary;
  return id === undefined || id === null ? "" : String(id);
}
