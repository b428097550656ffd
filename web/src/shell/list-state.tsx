/** What a list is while it is read, where it could not be, where it is empty, and that there is more. */

import type { InfiniteData, UseInfiniteQueryResult } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { ReadFailed } from "./read-failed";

type Page<T> = { data: T[]; page_info: { total_count: number } };

export function ListState<T>({
  query,
  what,
  rowHeight = 33,
  empty,
  children,
}: {
  query: UseInfiniteQueryResult<InfiniteData<Page<T>>, Error>;
  /** "The webhooks": subject of the sentence that says that they could not be read. */
  what: string;
  rowHeight?: number;
  empty: ReactNode;
  children: (items: readonly T[], total: number) => ReactNode;
}) {
  if (query.isPending) return <SkeletonRows height={rowHeight} rows={6} />;
  const items = query.data?.pages.flatMap((page) => page.data) ?? [];
  return (
    <>
      {query.error !== null && <ReadFailed what={what} error={query.error} again={query.refetch} />}
      {query.isSuccess && items.length === 0
        ? empty
        : items.length > 0 && children(items, query.data?.pages[0]?.page_info.total_count ?? 0)}
      {query.hasNextPage && (
        <div className="list-end">
          <Button
            busy={query.isFetchingNextPage && "Reading…"}
            onClick={() => void query.fetchNextPage()}
          >
            Show more
          </Button>
        </div>
      )}
    </>
  );
}
