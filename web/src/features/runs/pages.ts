/**
 * Pages of a list of runs that grows while it is read. The first few are read again as runs change; of more than these only the
 * newest page is, or each change would ask for all that was ever scrolled through.
 */

import {
  type InfiniteData,
  useInfiniteQuery,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { useEffect, useRef } from "react";
import type { RunRow } from "~/api/run-list";
import { READ_AGAIN_MAX } from "~/api/stream";

type Page<T> = {
  data: T[];
  page_info: {
    total_count: number;
    end_cursor: string | null;
    search?: { indexed_until_ms?: number };
  };
};

const PAGE = 50;

/** The newest page in the place of what it covers: rows of it are as they are now, and what it has no more is gone. */
export function withHead(head: readonly RunRow[], known: readonly RunRow[]): RunRow[] | undefined {
  const oldest = head.at(-1);
  if (oldest === undefined || head.length < PAGE) return [...head];
  const ids = new Set(head.map(({ id }) => id));
  const met = known.findIndex(({ id }) => ids.has(id));
  // So many came at once that what lies between was never read.
  if (met < 0) return undefined;
  const older = known.filter(
    ({ id, acceptedAt }) => !ids.has(id) && acceptedAt <= oldest.acceptedAt,
  );
  return [...head, ...older];
}

export function useRunPages<T>({
  queryKey,
  read,
  rowOf,
  askMs = false,
  soon,
}: {
  /** Begins with `runs`: what the stream of runs invalidates. */
  queryKey: readonly ["runs", ...unknown[]];
  read: (
    page: { limit: number; after: string | undefined },
    signal: AbortSignal,
  ) => Promise<Page<T>>;
  rowOf: (record: T) => RunRow;
  askMs?: number | false;
  /** How the first answers of a list that lags behind are asked for. */
  soon?: { everyMs: number; max: number } | undefined;
}) {
  const queries = useQueryClient();
  const pages = useInfiniteQuery({
    queryKey,
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) =>
      read({ limit: PAGE, after: pageParam }, signal),
    getNextPageParam: (last: Page<T>) =>
      last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
    refetchInterval: ({ state }) => {
      if (isLong(state.data)) return false;
      return soon !== undefined && state.dataUpdateCount < soon.max ? soon.everyMs : askMs;
    },
    refetchOnWindowFocus: ({ state }) => !isLong(state.data),
  });
  const long = isLong(pages.data);
  const head = useQuery({
    queryKey: ["runs", "head", ...queryKey],
    queryFn: ({ signal }) => read({ limit: PAGE, after: undefined }, signal),
    enabled: long,
    refetchInterval: askMs,
  });
  const all = pages.data?.pages.flatMap((page) => page.data.map(rowOf)) ?? [];
  // What left the newest page since the others were read is in none of them.
  const key = JSON.stringify(queryKey);
  const known = useRef<{ key: string; rows: RunRow[] }>({ key, rows: [] });
  if (known.current.key !== key) known.current = { key, rows: [] };
  const merged =
    long && head.data !== undefined
      ? withHead(head.data.data.map(rowOf), union(known.current.rows, all))
      : all;
  if (merged !== undefined) known.current.rows = long ? merged : [];
  const lost = merged === undefined;
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is spelled
  useEffect(() => {
    const first = head.data;
    if (!lost || first === undefined) return;
    known.current.rows = [];
    queries.setQueryData<InfiniteData<Page<T>>>(queryKey, {
      pages: [first],
      pageParams: [undefined],
    });
  }, [lost, key, queries]);
  return {
    pages,
    rows: merged ?? all,
    first: (long ? head.data : undefined) ?? pages.data?.pages[0],
  };
}

function isLong(data: InfiniteData<unknown> | undefined): boolean {
  return (data?.pages.length ?? 0) > READ_AGAIN_MAX;
}

/** Rows of both, the newest first. */
function union(one: readonly RunRow[], other: readonly RunRow[]): RunRow[] {
  if (one.length === 0) return [...other];
  const ids = new Set(one.map(({ id }) => id));
  const rest = other.filter(({ id }) => !ids.has(id));
  return rest.length === 0
    ? [...one]
    : [...one, ...rest].sort((a, b) => b.acceptedAt - a.acceptedAt);
}
