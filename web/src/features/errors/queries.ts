import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { DAYS, endOfDays, firstDay } from "./days";

const PAGE = 50;
const NEWEST = 3;

/** Which groups a list has: those that want somebody, or those of one state. */
export const SHOWN = {
  open: { label: "Open", state: "open,regressed" },
  resolved: { label: "Resolved", state: "resolved" },
  ignored: { label: "Ignored", state: "ignored" },
} as const;

export type Shown = keyof typeof SHOWN;

export const isShown = (text: unknown): text is Shown => typeof text === "string" && text in SHOWN;

export const groupsQuery = (shown: Shown) =>
  infiniteQueryOptions({
    queryKey: ["error-groups", shown],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      body(
        client.GET("/v1/error_groups", {
          params: {
            query: {
              limit: PAGE,
              after: pageParam,
              state: SHOWN[shown].state,
              days: DAYS,
              days_to: endOfDays(Date.now()),
            },
          },
          signal,
        }),
      ),
    getNextPageParam: (last) =>
      last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
  });

/** How many groups want somebody. */
export const openErrorsQuery = queryOptions({
  queryKey: ["error-groups", "count"],
  queryFn: async ({ signal }) => {
    const query = { limit: 1, state: SHOWN.open.state, include: "id" };
    const page = await body(client.GET("/v1/error_groups", { params: { query }, signal }));
    return page.page_info.total_count;
  },
  refetchInterval: 15_000,
});

/** One group with the history of its state. */
export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-group", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/error_groups/{id}", { params: { path: { id } }, signal })),
  });

/** The newest runs of a group in the days that its bars stand for. */
export const groupRunsQuery = (id: string) =>
  queryOptions({
    queryKey: ["runs", "of-group", id],
    queryFn: ({ signal }) =>
      body(
        client.GET("/v1/runs", {
          params: {
            query: {
              group: id,
              from: firstDay(Date.now()),
              limit: NEWEST,
              include: "id,summary,created_at_ms",
            },
          },
          signal,
        }),
      ),
  });
