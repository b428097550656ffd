/**
 * The stream of runs: one connection for all tabs of the browser. A browser opens six connections to a host over HTTP/1.1, so a
 * stream for each tab would leave the seventh without an answer. The tab that holds the lock reads the stream and passes on
 * that something changed; when it closes, another one gets the lock.
 */

import { type QueryClient, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { isObject, listOf } from "./json";

/** Changes that come together are read together. */
const TOGETHER_MS = 300;
const NAME = "millrace.runs";
/** Pages of a list that are read again with each change. Longer lists read their newest page alone. */
export const READ_AGAIN_MAX = 4;

/** Whether a list is short enough to be read again whole. */
function isShort(data: unknown): boolean {
  const pages = isObject(data) ? listOf(data.pages) : [];
  return pages.length <= READ_AGAIN_MAX;
}

let readers = 0;
let close: (() => void) | undefined;

function open(queries: QueryClient): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const changed = () => {
    timer ??= setTimeout(() => {
      timer = undefined;
      void queries.invalidateQueries({
        queryKey: ["runs"],
        predicate: ({ state }) => isShort(state.data),
      });
    }, TOGETHER_MS);
  };
  const others = new BroadcastChannel(NAME);
  others.addEventListener("message", changed);
  const end = leading(() => {
    changed();
    others.postMessage(null);
  });
  return () => {
    end();
    clearTimeout(timer);
    others.close();
  };
}

/** Reads the stream once this tab has the lock. Plain HTTP on another host has no locks: each tab reads for itself there. */
function leading(onChange: () => void): () => void {
  const ended = new AbortController();
  const read = () => {
    const source = new EventSource("/v1/stream?topics=runs");
    source.addEventListener("run", onChange);
    source.addEventListener("lag", onChange);
    return source;
  };
  if (!("locks" in navigator)) {
    const source = read();
    return () => source.close();
  }
  const hold = () =>
    new Promise<void>((release) => {
      if (ended.signal.aborted) return release();
      const source = read();
      ended.signal.addEventListener("abort", () => {
        source.close();
        release();
      });
    });
  // Aborted: this tab waited for the lock when it had no reader any more.
  navigator.locks.request(NAME, { signal: ended.signal }, hold).catch(() => undefined);
  return () => ended.abort();
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
