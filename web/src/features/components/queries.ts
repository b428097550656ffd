/** Queries of published components and registries. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { isComponentId } from "~/api/component-id";
import { pagesOf } from "~/api/queries";
import type { Component, RegistryComponent } from "~/api/schema";

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

export const registriesQuery = pagesOf(["registries"], (query, signal) =>
  body(client.GET("/v1/registries", { params: { query }, signal })),
);
