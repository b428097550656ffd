/** Records of every kind that the palette finds by words of their names, searched by the server. */

import { keepPreviousData, queryOptions, useQuery } from "@tanstack/react-query";
import { Folder, type LucideIcon } from "lucide-react";
import { useDeferredValue } from "react";
import { client, data } from "~/api/client";
import { fileStoresQuery } from "~/api/queries";
import { placeOf } from "./places";

export type Thing = {
  id: string;
  name: string;
  /** Its kind, and what tells it from others of that name. */
  note: string;
  icon: LucideIcon;
  href: string;
};

const LIMIT = 20;

const things = (q: string) =>
  queryOptions({
    queryKey: ["palette", "things", q],
    queryFn: async ({ signal }): Promise<Thing[]> => {
      const found = await data(
        client.GET("/v1/search", { params: { query: { q, limit: LIMIT } }, signal }),
      );
      return found.map(({ kind, id, name, about }) => {
        const { word, icon, href } = placeOf({ kind, id });
        // Of a workflow or source it is the slug of the name.
        const says = kind !== "workflow" && kind !== "source" && about !== null && about !== name;
        const beside = says ? `${about} · ${word}` : word;
        return { id: `${kind}:${id}`, name, note: beside, icon, href };
      });
    },
    enabled: q !== "",
    staleTime: 30_000,
    placeholderData: keepPreviousData,
  });

/** File stores whose names hold all words: the server's search has none, as they are no records. */
function useFileStores(q: string): { stores: Thing[]; isRead: boolean } {
  const enabled = q !== "";
  const query = { ...fileStoresQuery, enabled, staleTime: 30_000 };
  const { data = [], isPending } = useQuery(query);
  const words = q.toLowerCase().split(/\s+/);
  const stores = data
    .filter(({ name }) => enabled && words.every((word) => name.toLowerCase().includes(word)))
    .slice(0, LIMIT)
    .map(({ name }) => ({
      id: `file_store:${name}`,
      name,
      note: "file store",
      icon: Folder,
      href: `/files/${encodeURIComponent(name)}`,
    }));
  return { stores, isRead: !isPending };
}

/**
 * What is found for the words, whether it is of words typed before, and whether the server answered
 * these ones.
 */
export function useThings(words: string): {
  found: readonly Thing[];
  earlier: boolean;
  answered: boolean;
} {
  const now = words.trim().slice(0, 200);
  const q = useDeferredValue(now);
  const { data: found = [], isPlaceholderData, isPending } = useQuery(things(q));
  const { stores, isRead } = useFileStores(q);
  if (q === "") return { found: [], earlier: false, answered: now === "" };
  const answered = q === now && !isPlaceholderData && !isPending && isRead;
  return { found: [...found, ...stores], earlier: isPlaceholderData, answered };
}
