/** States of a list: loading, failed, empty, and more to load. */

import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import { type ReactNode, useEffect, useRef } from "react";
import { SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { count, plural } from "~/ui/format";
import { ReadFailed } from "./read-failed";

type Page<T> = { data: T[]; page_info: { total_count: number } };

export function ListState<T>({
  query,
  what,
  rowHeight = 33,
  waits = false,
  empty,
  children,
}: {
  query: UseInfiniteQueryResult<InfiniteData<Page<T>>, Error>;
  /** "The webhooks": subject of the sentence that says that they could not be read. */
  what: string;
  rowHeight?: number;
  /** What else stands between the rows is not known yet. */
  waits?: boolean;
  empty: ReactNode;
  children: (items: readonly T[], total: number) => ReactNode;
}) {
  const isShown = useRef(false);
  if (query.isPending || (waits && !isShown.current)) {
    return <SkeletonRows height={rowHeight} rows={6} />;
  }
  isShown.current = true;
  const items = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {query.error !== null && <ReadFailed what={what} error={query.error} again={query.refetch} />}
      {query.isSuccess && items.length === 0
        ? empty
        : items.length > 0 && children(items, query.data?.pages[0]?.page_info.total_count ?? 0)}
      <ShowMore query={query} />
    </>
  );
}

/** Pages that a filter reads by itself; "Show more" reads on. */
const FILTERED_PAGES_MAX = 20;

/**
 * Reads the rest of a list while a filter is set: a filter looks at the rows that were read, and the server filters
 * none of these lists. `one`: what a row is, "source".
 */
export function useFiltered<T>(
  query: UseInfiniteQueryResult<InfiniteData<Page<T>>, Error>,
  isFiltered: boolean,
  one: string,
): {
  /** More rows are about to come by themselves. */
  reads: boolean;
  /** What was filtered: "300 sources", "the first 2,000 of 9,000 sources". */
  of: string;
  /** How many rows there are, and how many of them a filter shows. */
  words: (shown: number) => string;
} {
  const { data, hasNextPage, isFetching, isFetchNextPageError, fetchNextPage } = query;
  const pages = data?.pages ?? [];
  const reads =
    isFiltered && hasNextPage && !isFetchNextPageError && pages.length < FILTERED_PAGES_MAX;
  useEffect(() => {
    if (reads && !isFetching) void fetchNextPage();
  }, [reads, isFetching, fetchNextPage]);
  const loaded = pages.reduce((sum, page) => sum + page.data.length, 0);
  const all = plural(Math.max(pages[0]?.page_info.total_count ?? 0, loaded), one);
  const of = hasNextPage ? `the first ${count(loaded)} of ${all}` : all;
  const isAll = (shown: number) => !isFiltered || (shown === loaded && !hasNextPage);
  return { reads, of, words: (shown) => (isAll(shown) ? all : `${count(shown)} of ${of}`) };
}

/** How far before the end of a list the next page is asked for. */
const AHEAD = "600px";

/** The end of a list: it reads on by itself as it comes near, and by its button where that failed. */
export function ShowMore({
  query: { hasNextPage, isFetchingNextPage, isFetchNextPageError, fetchNextPage },
}: {
  query: Pick<
    UseInfiniteQueryResult,
    "hasNextPage" | "isFetchingNextPage" | "isFetchNextPageError" | "fetchNextPage"
  >;
}) {
  const end = useRef<HTMLDivElement>(null);
  const waits = hasNextPage && !isFetchingNextPage && !isFetchNextPageError;
  useEffect(() => {
    if (!waits || end.current === null) return;
    const root = end.current.closest(".scroll");
    const seen = new IntersectionObserver(
      (entries) => {
        // Who has not scrolled has not read what is there.
        const moved = (root?.scrollTop ?? 0) > 0 || window.scrollY > 0;
        if (moved && entries.some(({ isIntersecting }) => isIntersecting)) void fetchNextPage();
      },
      { root, rootMargin: AHEAD },
    );
    seen.observe(end.current);
    return () => seen.disconnect();
  }, [waits, fetchNextPage]);
  if (!hasNextPage) return null;
  return (
    <div className="list-end" ref={end}>
      <Button busy={isFetchingNextPage && "Loading…"} onClick={() => void fetchNextPage()}>
        Show more
      </Button>
    </div>
  );
}
