import { queryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { listedRowOf } from "~/api/run-list";

/** Beside the stream, which may be lost. */
const ASK_MS = 15_000;
const GROUPS_ASK_MS = 10_000;

type Filter = { status?: string; from?: number; kind?: string };

/** The newest runs that fit, and how many there are. */
export const newestRuns = (filter: Filter, limit: number) =>
  queryOptions({
    queryKey: ["runs", "newest", filter, limit],
    queryFn: async ({ signal }) => {
      const page = await body(
        client.GET("/v1/runs", { params: { query: { ...filter, limit } }, signal }),
      );
      return { rows: page.data.map(listedRowOf), total: page.page_info.total_count };
    },
    refetchInterval: ASK_MS,
  });

export const newestGroups = queryOptions({
  queryKey: ["error-groups", "newest"],
  queryFn: ({ signal }) =>
    body(client.GET("/v1/error_groups", { params: { query: { limit: 5 } }, signal })),
  refetchInterval: GROUPS_ASK_MS,
});
