/** Queries that several features ask: accounts, apps, data stores, file stores. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "./client";

/** The most that one page of a list holds. */
export const PAGE_MAX = 100;

/** Pages that a list of choices has at most: what is beyond is named by its id. */
const PAGES_MAX = 20;

/** As many records as `allOf` reads: of so many there may be more. */
export const ALL_MAX = PAGE_MAX * PAGES_MAX;

/** All of a list, for what chooses from it or names its records. */
export async function allOf<T>(
  read: (page: { limit: number; after: string | undefined }) => Promise<{
    data: T[];
    page_info: { end_cursor: string | null };
  }>,
): Promise<T[]> {
  const all: T[] = [];
  let after: string | undefined;
  for (let at = 0; at < PAGES_MAX; at += 1) {
    const { data, page_info } = await read({ limit: PAGE_MAX, after });
    all.push(...data);
    if (data.length < PAGE_MAX || page_info.end_cursor === null) break;
    after = page_info.end_cursor;
  }
  return all;
}

export const accountsOf = (app: string) =>
  queryOptions({
    queryKey: ["accounts", { app }],
    queryFn: ({ signal }) =>
      allOf((page) =>
        body(client.GET("/v1/accounts", { params: { query: { app, ...page } }, signal })),
      ),
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
    allOf((page) => body(client.GET("/v1/data_stores", { params: { query: page }, signal }))),
});

export const fileStoresQuery = queryOptions({
  queryKey: ["file-stores"],
  queryFn: ({ signal }) =>
    allOf((page) => body(client.GET("/v1/file_stores", { params: { query: page }, signal }))),
});

export type Owner = { id: string; name: string; isWorkflow: boolean };

/** Names of workflows and sources by their ids, for lists that name ids alone. */
export const ownersQuery = queryOptions({
  queryKey: ["owners"],
  queryFn: async ({ signal }): Promise<Map<string, Owner>> => {
    const include = "id,name";
    const [workflows, sources] = await Promise.all([
      allOf((page) =>
        body(client.GET("/v1/workflows", { params: { query: { ...page, include } }, signal })),
      ),
      allOf((page) =>
        body(client.GET("/v1/sources", { params: { query: { ...page, include } }, signal })),
      ),
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
  queryKey: ["webhooks", "names"],
  queryFn: async ({ signal }) => {
    const include = "id,name,url";
    const webhooks = await allOf((page) =>
      body(client.GET("/v1/webhooks", { params: { query: { ...page, include } }, signal })),
    );
    return new Map(webhooks.map(({ id, name, url }) => [id, name ?? url] as const));
  },
  staleTime: 30_000,
});

export const membersQuery = queryOptions({
  queryKey: ["members", "names"],
  queryFn: ({ signal }) =>
    allOf((page) => body(client.GET("/v1/members", { params: { query: page }, signal }))),
  staleTime: 30_000,
});

/** Names of members and keys by their id, for records of who did what; those that are gone are named by their id. */
export const actorsQuery = queryOptions({
  queryKey: ["actors"],
  queryFn: async ({ signal }) => {
    const [members, keys] = await Promise.all([
      allOf((page) => body(client.GET("/v1/members", { params: { query: page }, signal }))),
      allOf((page) => body(client.GET("/v1/api_keys", { params: { query: page }, signal }))),
    ]);
    return new Map([
      ...members.map(({ id, name }) => [id, name] as const),
      ...keys.map(({ id, name }) => [id, `${name} (key)`] as const),
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

export type Page<T> = { data: T[]; page_info: { total_count: number; end_cursor: string | null } };

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
