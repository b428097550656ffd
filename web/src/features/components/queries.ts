/** Queries of published components and registries. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { pagesOf } from "~/api/queries";

export const componentsQuery = pagesOf(["components"], (query, signal) =>
  body(
    client.GET("/v1/components", {
      params: {
        query: { ...query, include: "id,name,key,version,type,published,component_url,created_at" },
      },
      signal,
    }),
  ),
);

export const componentQuery = (id: string) =>
  queryOptions({
    queryKey: ["component", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/components/{id}", { params: { path: { id } }, signal })),
    staleTime: Number.POSITIVE_INFINITY,
  });

export const registriesQuery = pagesOf(["registries"], (query, signal) =>
  body(client.GET("/v1/registries", { params: { query }, signal })),
);
