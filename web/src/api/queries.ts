/** Queries that several features ask: accounts, apps, data stores, file stores. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "./client";

/** The most that one page of a list holds. */
export const PAGE_MAX = 100;

export const accountsOf = (app: string) =>
  queryOptions({
    queryKey: ["accounts", { app }],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/accounts", { params: { query: { app, limit: PAGE_MAX } }, signal })),
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
