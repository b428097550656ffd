/** Queries of published components and registries. */

import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { isComponentId } from "~/api/component-id";
import { pagesOf } from "~/api/queries";
import type { Component, RegistryComponent } from "~/api/schema";

export const componentsQuery = pagesOf(["components"], (query, signal) =>
  body(
    client.GET("/v1/components", {
      params: {
        query: {
          ...query,
          include: "id,name,key,version,type,published,component_url,registry,created_at",
        },
      },
      signal,
    }),
  ),
);

/** A saved component by its id, or one that a key names: published, or of a registry. */
export const componentQuery = (id: string) => {
  const isSaved = isComponentId(id);
  return queryOptions({
    queryKey: isSaved ? ["component", id] : ["registry-component", id],
    queryFn: ({ signal }): Promise<Component | RegistryComponent> => {
      const params = { path: { id } };
      return isSaved
        ? data(client.GET("/v1/components/{id}", { params, signal }))
        : data(client.GET("/v1/components/registry/{id}", { params, signal }));
    },
    // A saved component never changes.
    staleTime: isSaved ? Number.POSITIVE_INFINITY : 60_000,
  });
};

/** A registry, with the files that its last update could not index. */
export const registryQuery = (name: string) =>
  queryOptions({
    queryKey: ["registries", "one", name],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/registries/{name}", { params: { path: { name } }, signal })),
  });

/** What was deployed from a registry. */
export const registryUsesQuery = (name: string) =>
  queryOptions({
    queryKey: ["registries", "uses", name],
    queryFn: async ({ signal }) => {
      const params = { path: { name }, query: { dry_run: true } };
      const { would_go } = await data(client.DELETE("/v1/registries/{name}", { params, signal }));
      return would_go?.uses ?? [];
    },
    staleTime: 0,
    gcTime: 0,
  });

export const registriesQuery = pagesOf(["registries", "list"], (query, signal) =>
  body(client.GET("/v1/registries", { params: { query }, signal })),
);

const OF_REGISTRIES = ["registries", "component-search", "action-search", "registry-component"];

/** After an update or a removal of a registry: lists, searches and components of registries. */
export function invalidateRegistries(queries: QueryClient): void {
  for (const key of OF_REGISTRIES) void queries.invalidateQueries({ queryKey: [key] });
}
