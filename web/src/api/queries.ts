/** Queries that several features ask: accounts, apps, data stores, file stores. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "./client";

/** The most that one page of a list holds. */
export const PAGE_MAX = 100;

export const accountsOf = (app: string) =>
  queryOptions({
    queryKey: ["accounts", { app }],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/accounts", { params: { query: { app, limit: PAGE_MAX } }, signal })),
  });

export const accountQuery = (id: string) =>
  queryOptions({
    queryKey: ["accounts", "one", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/accounts/{id}", { params: { path: { id } }, signal })),
    retry: false,
  });

/** The workflows and sources that name an account. */
export const accountUsesQuery = (id: string) =>
  queryOptions({
    queryKey: ["accounts", "uses", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/accounts/{id}/uses", { params: { path: { id } }, signal })),
    staleTime: 30_000,
    retry: false,
  });

export const appQuery = (slug: string) =>
  queryOptions({
    queryKey: ["app", slug],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/apps/{id}", { params: { path: { id: slug } }, signal })),
    staleTime: 60_000,
  });

export const dataStoresQuery = queryOptions({
  queryKey: ["data-stores"],
  queryFn: ({ signal }) =>
    body(client.GET("/v1/data_stores", { params: { query: { limit: PAGE_MAX } }, signal })),
});

export const fileStoresQuery = queryOptions({
  queryKey: ["file-stores"],
  queryFn: ({ signal }) =>
    body(client.GET("/v1/file_stores", { params: { query: { limit: PAGE_MAX } }, signal })),
});

export type Owner = { id: string; name: string; isWorkflow: boolean };

/** Names of workflows and sources by their ids, for lists that name ids alone. */
export const ownersQuery = queryOptions({
  queryKey: ["owners"],
  queryFn: async ({ signal }): Promise<Map<string, Owner>> => {
    const query = { limit: PAGE_MAX, include: "id,name" };
    const [workflows, sources] = await Promise.all([
      data(client.GET("/v1/workflows", { params: { query }, signal })),
      data(client.GET("/v1/sources", { params: { query }, signal })),
    ]);
    const owners = new Map<string, Owner>();
    for (const { id, name } of workflows) owners.set(id, { id, name, isWorkflow: true });
    for (const { id, name } of sources) owners.set(id, { id, name, isWorkflow: false });
    return owners;
  },
  staleTime: 30_000,
});

/** Names of webhooks by their ids; one without a name is called by its address. */
export const webhookNamesQuery = queryOptions({
  queryKey: ["webhook-names"],
  queryFn: async ({ signal }) => {
    const query = { limit: PAGE_MAX, include: "id,name,url" };
    const webhooks = await data(client.GET("/v1/webhooks", { params: { query }, signal }));
    return new Map(webhooks.map(({ id, name, url }) => [id, name ?? url] as const));
  },
  staleTime: 30_000,
});

export const membersQuery = queryOptions({
  queryKey: ["members", "names"],
  queryFn: ({ signal }) =>
    data(client.GET("/v1/members", { params: { query: { limit: PAGE_MAX } }, signal })),
  staleTime: 30_000,
});

/** Names of members and keys by their id, for records of who did what; those that are gone are named by their id. */
export const actorsQuery = queryOptions({
  queryKey: ["actors"],
  queryFn: async ({ signal }) => {
    const query = { limit: PAGE_MAX };
    const [members, keys] = await Promise.all([
      body(client.GET("/v1/members", { params: { query }, signal })),
      body(client.GET("/v1/api_keys", { params: { query }, signal })),
    ]);
    return new Map([
      ...members.data.map(({ id, name }) => [id, name] as const),
      ...keys.data.map(({ id, name }) => [id, `${name} (key)`] as const),
    ]);
  },
  staleTime: 30_000,
});

/** Who listens to what, all of the organization. */
export const subscriptionsQuery = (org: string) =>
  queryOptions({
    queryKey: ["subscriptions", org],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/orgs/{org}/subscriptions", { params: { path: { org } }, signal })),
  });

export const organizationQuery = (id: string) =>
  queryOptions({
    queryKey: ["organization", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/orgs/{org}", { params: { path: { org: id } }, signal })),
  });

type Page<T> = { data: T[]; page_info: { total_count: number; end_cursor: string | null } };

/** A list of the API, a page at a time. */
export function pagesOf<T>(
  key: readonly unknown[],
  read: (
    page: { limit: number; after: string | undefined },
    signal: AbortSignal,
  ) => Promise<Page<T>>,
  limit = PAGE_MAX,
) {
  return infiniteQueryOptions({
    queryKey: key,
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      read({ limit, after: pageParam }, signal),
    getNextPageParam: (last) =>
      last.data.length < limit ? undefined : (last.page_info.end_cursor ?? undefined),
  });
}

const TICK_ASK_MS = 30_000;

/** When a cron line fires next. */
export const nextTickQuery = (cron: string, timezone: string) =>
  queryOptions({
    queryKey: ["next-tick", cron, timezone],
    queryFn: async ({ signal }) => {
      const { next_ms } = await data(
        client.GET("/v1/schedules/next", { params: { query: { cron, timezone } }, signal }),
      );
      return next_ms[0] ?? null;
    },
    refetchInterval: TICK_ASK_MS,
  });
