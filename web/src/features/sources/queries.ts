/** Queries of sources, their versions, runs and components. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { PAGE_MAX, pagesOf } from "~/api/queries";

export const FOUND_MOST = 50;

export const componentOfKey = (key: string) =>
  queryOptions({
    queryKey: ["registry-component", key],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/components/registry/{id}", { params: { path: { id: key } }, signal })),
    staleTime: 60_000,
    retry: false,
  });

export const componentOfId = (id: string) =>
  queryOptions({
    queryKey: ["component", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/components/{id}", { params: { path: { id } }, signal })),
    // A saved component never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

export const searchQuery = (query: string, type: "source" | "action") =>
  queryOptions({
    queryKey: ["component-search", type, query],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/components/search", {
          params: { query: { query, type, limit: FOUND_MOST } },
          signal,
        }),
      ),
    staleTime: 30_000,
  });

export const sourcesQuery = infiniteQueryOptions({
  queryKey: ["sources"],
  initialPageParam: undefined,
  queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
    body(
      client.GET("/v1/sources", {
        params: { query: { limit: PAGE_MAX, after: pageParam, stats: "24h" } },
        signal,
      }),
    ),
  getNextPageParam: (last) =>
    last.data.length < PAGE_MAX ? undefined : (last.page_info.end_cursor ?? undefined),
});

/** Names of the apps of the newest accounts, by the ids of the accounts. */
export const appsOfAccountsQuery = queryOptions({
  queryKey: ["accounts", "apps"],
  queryFn: async ({ signal }) => {
    const query = { limit: PAGE_MAX, include: "id,app" };
    const accounts = await data(client.GET("/v1/accounts", { params: { query }, signal }));
    return {
      apps: new Map(accounts.map(({ id, app }) => [id, app.name] as const)),
      isWhole: accounts.length < PAGE_MAX,
    };
  },
  staleTime: 30_000,
});

export const sourceQuery = (id: string) =>
  queryOptions({
    queryKey: ["source", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/sources/{id}", { params: { path: { id } }, signal })),
  });

/** While a source has no runs, its first one is awaited. */
const FIRST_RUN_MS = 5_000;

/** Live runs of a source that ended in the last 24 hours, by how they ended. */
export const runsOfDayQuery = (id: string) =>
  queryOptions({
    queryKey: ["source", id, "runs-of-day"],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/stats/runs", { params: { query: { owner_id: id } }, signal })),
    refetchInterval: ({ state: { data: found } }) =>
      found !== undefined && found.total.succeeded + found.total.failed === 0
        ? FIRST_RUN_MS
        : 60_000,
  });

/** Versions of a source, the live one first. */
export const sourceVersionsQuery = (id: string) =>
  pagesOf(["source", id, "versions"], (query, signal) =>
    body(
      client.GET("/v1/sources/{id}/deployments", {
        params: { path: { id }, query: { ...query, runs: true } },
        signal,
      }),
    ),
  );

export const sourceVersionQuery = (id: string, deployment: string) =>
  queryOptions({
    queryKey: ["source-version", id, deployment],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/sources/{id}/deployments/{deployment}", {
          params: { path: { id, deployment } },
          signal,
        }),
      ),
    // A version never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
