/** Endpoints of workflows and sources, for a choice by name. */

import { queryOptions } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { allOf } from "~/api/queries";

export type Endpoint = { id: string; name: string; kind: "workflow" | "source" };

/** An endpoint's id, which can be given also where the lists do not have it. */
const ID = /^hi_[A-Za-z0-9]+$/;

export const endpointsQuery = queryOptions({
  queryKey: ["endpoints"],
  queryFn: async ({ signal }): Promise<Endpoint[]> => {
    const [workflows, sources] = await Promise.all([
      allOf((page) => {
        const query = { ...page, include: "id,name,triggers" };
        return body(client.GET("/v1/workflows", { params: { query }, signal }));
      }),
      allOf((page) => {
        const query = { ...page, include: "id,name,interfaces" };
        return body(client.GET("/v1/sources", { params: { query }, signal }));
      }),
    ]);
    return [
      ...workflows.flatMap(({ name, triggers }) =>
        triggers
          .filter(({ type }) => type === "http")
          .map(({ id }) => ({ id, name, kind: "workflow" as const })),
      ),
      ...sources.flatMap(({ name, interfaces }) =>
        interfaces
          .filter(({ type }) => type === "http")
          .map(({ id }) => ({ id, name, kind: "source" as const })),
      ),
    ];
  },
  staleTime: 30_000,
});

/** Endpoints whose name or id has the words; an id that is none of them is one to try. */
export function endpointsOf(
  words: string,
  all: readonly Endpoint[],
): { id: string; name: string; kind?: string }[] {
  const needle = words.trim().toLowerCase();
  const found = all.filter(
    ({ id, name }) => id.toLowerCase() === needle || name.toLowerCase().includes(needle),
  );
  return found.length === 0 && ID.test(words.trim())
    ? [{ id: words.trim(), name: words.trim() }]
    : found;
}
