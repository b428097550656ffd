/** A live list of runs that is held while it is read: its rows stay, and what happens to them is shown. */

import { keepPreviousData, useQuery } from "@tanstack/react-query";
import type { RefObject } from "react";
import { client, data } from "~/api/client";
import { listedRowOf, type RunRow } from "~/api/run-list";
import { isFinal } from "~/api/runs";
import { useHeldList } from "~/shell/held-list";

/** As many runs as one page of the API has. */
const IDS_MAX = 100;
/** Beside the stream, which may be lost. */
const ASK_MS = 5_000;

export function useHeldRuns(
  rows: readonly RunRow[],
  list: {
    key: string;
    box: RefObject<HTMLElement | null>;
    isWhole: boolean;
    isBusy: boolean;
  },
) {
  const held = useHeldList(rows, { ...list, keepsGone: true });
  const read = new Set(rows.map(({ id }) => id));
  // Newer runs pushed them out of the pages that are read, or another status out of the filter.
  const ids = held.shown
    .filter(({ id, status }) => !read.has(id) && !isFinal(status))
    .map(({ id }) => id)
    .slice(0, IDS_MAX);
  const { data: others = [] } = useQuery({
    queryKey: ["runs", "by-id", ids],
    queryFn: ({ signal }) => {
      const query = { ids: ids.join(","), limit: IDS_MAX };
      return data(client.GET("/v1/runs", { params: { query }, signal }));
    },
    enabled: ids.length > 0,
    refetchInterval: ASK_MS,
    placeholderData: keepPreviousData,
  });
  const now = new Map(others.map((run) => [run.id, listedRowOf(run)]));
  return {
    ...held,
    shown: held.shown.map((row) => (read.has(row.id) ? row : (now.get(row.id) ?? row))),
  };
}
