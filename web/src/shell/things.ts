/** Things that the palette finds by name. */

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { ListTree, type LucideIcon, Radio } from "lucide-react";
import { client, data } from "~/api/client";

export type Thing = {
  id: string;
  name: string;
  kind: string;
  icon: LucideIcon;
  href: string;
};

const LIMIT = 100;

const query = { limit: LIMIT, include: "id,name" };

const things = queryOptions({
  queryKey: ["palette", "things"],
  queryFn: async ({ signal }): Promise<Thing[]> => {
    const [workflows, sources] = await Promise.all([
      data(client.GET("/v1/workflows", { params: { query }, signal })),
      data(client.GET("/v1/sources", { params: { query }, signal })),
    ]);
    return [
      ...workflows.map(({ id, name }) => ({
        id,
        name,
        kind: "workflow",
        icon: ListTree,
        href: `/workflows/${id}`,
      })),
      ...sources.map(({ id, name }) => ({
        id,
        name,
        kind: "source",
        icon: Radio,
        href: `/sources/${id}`,
      })),
    ];
  },
  staleTime: 30_000,
  placeholderData: keepPreviousData,
});

export function useThings(words: string): readonly Thing[] {
  const { data: found = [] } = useQuery({ ...things, enabled: words.trim() !== "" });
  return words.trim() === "" ? [] : found;
}
