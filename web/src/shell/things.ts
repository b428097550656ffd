/** Things that the palette finds by name. */

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { type LucideIcon, Radio } from "lucide-react";
import { client, data } from "~/api/client";

export type Thing = {
  id: string;
  name: string;
  kind: string;
  icon: LucideIcon;
  href: string;
};

const LIMIT = 100;

const sources = queryOptions({
  queryKey: ["palette", "sources"],
  queryFn: ({ signal }) =>
    data(
      client.GET("/v1/sources", {
        params: { query: { limit: LIMIT, include: "id,name" } },
        signal,
      }),
    ),
  staleTime: 30_000,
  placeholderData: keepPreviousData,
});

export function useThings(query: string): readonly Thing[] {
  const { data: found = [] } = useQuery({ ...sources, enabled: query.trim() !== "" });
  if (query.trim() === "") return [];
  return found.map(({ id, name }) => ({
    id,
    name,
    kind: "source",
    icon: Radio,
    href: `/sources/${id}`,
  }));
}
