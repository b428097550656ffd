/** The stream of runs: one connection for the page, however many lists show them. */

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";

/** Changes that come together are read together. */
const TOGETHER_MS = 300;

let readers = 0;
let close: (() => void) | undefined;

function open(queries: QueryClient): () => void {
  const source = new EventSource("/v1/stream?topics=runs");
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void queries.invalidateQueries({ queryKey: ["runs"] });
    }, TOGETHER_MS);
  };
  source.addEventListener("run", changed);
  source.addEventListener("lag", changed);
  return () => {
    clearTimeout(timer);
    source.close();
  };
}

/** Reads lists of runs again as runs change. Where the stream cannot be had, lists ask by themselves. */
export function useLiveRuns(): void {
  const queries = useQueryClient();
  useEffect(() => {
    readers += 1;
    close ??= open(queries);
    return () => {
      readers -= 1;
      if (readers > 0) return;
      close?.();
      close = undefined;
    };
  }, [queries]);
}
