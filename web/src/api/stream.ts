/**
 * Stream of changes: one connection for all tabs of the browser. A browser opens six connections to
 * a host over HTTP/1.1, so a stream for each tab would leave the seventh without an answer. The tab
 * that holds the lock reads the topics that any tab wants and publishes which of them changed; when
 * it closes, another tab acquires the lock.
 */

import { type Query, type QueryKey, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { isObject, listOf, textOf } from "./json";
import { streamEnded } from "./observers";
import { readTopics } from "./topics";

/** Changes that come together are read together: the first soon, the next ones after a while. */
const SOON_MS = 100;
const TOGETHER_MS = 1_000;
const NAME = "millrace.stream";
/** Pages of a list that are read again with each change. Longer lists read their newest page alone. */
export const READ_AGAIN_MAX = 4;

/** Whether a list is short enough to be read again whole. */
export function isShort({ state: { data } }: Query): boolean {
  const pages = isObject(data) ? listOf(data.pages) : [];
  return pages.length <= READ_AGAIN_MAX;
}

type Listener = () => void;

/** What this tab listens to. */
const listeners = new Map<string, Set<Listener>>();
let hub: ReturnType<typeof open> | undefined;

function changed(topic: string): void {
  for (const listener of listeners.get(topic) ?? []) listener();
}

function open() {
  const tab = crypto.randomUUID();
  const channel = new BroadcastChannel(NAME);
  const ofOthers = new Map<string, string[]>();
  const own = () => [...listeners.keys()];
  const announce = () => channel.postMessage({ tab, topics: own() });
  const leave = () => channel.postMessage({ tab, topics: [] });
  let reader: ReturnType<typeof readTopics> | undefined;
  const read = () => reader?.set([...own(), ...[...ofOthers.values()].flat()]);
  channel.addEventListener("message", ({ data }) => {
    if (!isObject(data)) return;
    const topic = textOf(data.changed);
    if (topic !== undefined) return changed(topic);
    if (data.asks === true) return announce();
    if (data.ended === true) return streamEnded();
    const other = textOf(data.tab);
    if (other === undefined) return;
    ofOthers.set(
      other,
      listOf(data.topics).flatMap((each) => textOf(each) ?? []),
    );
    read();
  });
  addEventListener("pagehide", leave);
  addEventListener("pageshow", announce);
  const ended = new AbortController();
  const lead = () => {
    reader = readTopics(
      (topic) => {
        changed(topic);
        channel.postMessage({ changed: topic });
      },
      () => {
        streamEnded();
        channel.postMessage({ ended: true });
      },
    );
    channel.postMessage({ asks: true });
    read();
  };
  // Plain HTTP on another host has no locks: each tab reads for itself there.
  if (!("locks" in navigator)) lead();
  else {
    const hold = () =>
      new Promise<void>((release) => {
        if (ended.signal.aborted) return release();
        lead();
        ended.signal.addEventListener("abort", () => release());
      });
    // Aborted: this tab waited for the lock when it had no reader any more.
    navigator.locks.request(NAME, { signal: ended.signal }, hold).catch(() => undefined);
  }
  return {
    update: () => {
      announce();
      read();
    },
    close: () => {
      leave();
      ended.abort();
      reader?.close();
      channel.close();
      removeEventListener("pagehide", leave);
      removeEventListener("pageshow", announce);
    },
  };
}

/** Calls the listener when something of the topic changed, and when it may have. */
function listen(topic: string, listener: Listener): () => void {
  const all = listeners.get(topic) ?? new Set();
  listeners.set(topic, all.add(listener));
  hub ??= open();
  if (all.size === 1) hub.update();
  return () => {
    all.delete(listener);
    if (all.size > 0) return;
    listeners.delete(topic);
    if (listeners.size > 0) return hub?.update();
    hub?.close();
    hub = undefined;
  };
}

/**
 * Reads again what begins with this key as the topic changes: `runs`, `run:{id}`, `events:{source}`, `logs:{owner}` or
 * `replays`. A page that is not seen reads when it is seen again.
 */
export function useLive(
  topic: string | undefined,
  queryKey: QueryKey,
  predicate?: (query: Query) => boolean,
): void {
  const queries = useQueryClient();
  const key = JSON.stringify(queryKey);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key is spelled
  useEffect(() => {
    if (topic === undefined) return;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let [readAt, waits] = [0, false];
    const read = () => {
      timer = undefined;
      waits = document.hidden;
      if (waits) return;
      // What is being read, as the next page of a list, is not cut off: it is read again then.
      if (queries.isFetching({ queryKey }) > 0) {
        timer = setTimeout(read, SOON_MS);
        return;
      }
      readAt = Date.now();
      void queries.invalidateQueries({
        queryKey,
        ...(predicate === undefined ? {} : { predicate }),
      });
    };
    const soon = () => {
      timer ??= setTimeout(read, Math.max(SOON_MS, readAt + TOGETHER_MS - Date.now()));
    };
    const seen = () => {
      if (waits && !document.hidden) read();
    };
    document.addEventListener("visibilitychange", seen);
    const end = listen(topic, soon);
    return () => {
      end();
      clearTimeout(timer);
      document.removeEventListener("visibilitychange", seen);
    };
  }, [topic, key, predicate, queries]);
}

const RUNS = ["runs"];

/** Reads lists of runs again as runs change. */
export function useLiveRuns(): void {
  useLive("runs", RUNS, isShort);
}
