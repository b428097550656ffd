/**
 * Reader of the topics of `GET /v1/stream`: reports which of them changed, and connects again where
 * the stream ends.
 */

import { isObject, textOf } from "./json";

/** Topics of one stream, as the server allows. */
const TOPICS_MAX = 16;
/** Topics that are wanted one after the other are asked for together. */
const SETTLE_MS = 50;
const AGAIN_MS = 5_000;
const FRAMES = ["run", "step", "log", "event", "replay", "lag"];

/** Streams that have all topics, each once; the same topics give the same streams. */
export function streamsOf(topics: readonly string[]): string[] {
  const all = [...new Set(topics)].sort();
  const streams: string[] = [];
  for (let at = 0; at < all.length; at += TOPICS_MAX) {
    const names = all.slice(at, at + TOPICS_MAX).map(encodeURIComponent);
    streams.push(`/v1/stream?topics=${names.join(",")}`);
  }
  return streams;
}

export function readTopics(onChange: (topic: string) => void, onEnd: () => void) {
  let wanted: readonly string[] = [];
  /** Topics that are refused alone: what they are of is gone. */
  let refused = new Set<string>();
  let sources = new Map<string, EventSource>();
  let timer: ReturnType<typeof setTimeout> | undefined;
  const soon = (ms: number) => {
    clearTimeout(timer);
    timer = setTimeout(connect, ms);
  };
  const connect = () => {
    timer = undefined;
    const topics = wanted.filter((topic) => !refused.has(topic));
    const next = new Map<string, EventSource>();
    for (const url of streamsOf(topics)) {
      const kept = sources.get(url);
      next.set(
        url,
        kept !== undefined && kept.readyState !== EventSource.CLOSED ? kept : read(url),
      );
    }
    for (const [url, source] of sources) if (next.get(url) !== source) source.close();
    sources = next;
  };
  const read = (url: string) => {
    const source = new EventSource(url);
    const topics = new URL(url, location.href).searchParams.get("topics")?.split(",") ?? [];
    // What came before the stream was open, or between two, is in none.
    source.onopen = () => topics.forEach(onChange);
    for (const frame of FRAMES) {
      source.addEventListener(frame, ({ data }) => {
        const given: unknown = JSON.parse(String(data));
        const topic = isObject(given) ? textOf(given.topic) : undefined;
        if (topic !== undefined) onChange(topic);
      });
    }
    // It connects again by itself, unless the server refuses.
    source.onerror = () => {
      onEnd();
      if (source.readyState !== EventSource.CLOSED) return;
      void refusedOf(topics).then((gone) => {
        refused = new Set([...refused, ...gone]);
        if (sources.get(url) === source) soon(gone.length > 0 ? 0 : AGAIN_MS);
      });
    };
    return source;
  };
  return {
    set: (topics: readonly string[]) => {
      wanted = topics;
      refused = new Set([...refused].filter((topic) => topics.includes(topic)));
      soon(SETTLE_MS);
    },
    close: () => {
      clearTimeout(timer);
      for (const source of sources.values()) source.close();
    },
  };
}

/** Those among the topics that the server has not. */
async function refusedOf(topics: readonly string[]): Promise<string[]> {
  const gone = await Promise.all(
    topics.map(async (topic) => {
      const ended = new AbortController();
      try {
        const url = `/v1/stream?topics=${encodeURIComponent(topic)}`;
        const { status } = await fetch(url, { signal: ended.signal });
        return [403, 404, 422].includes(status) ? [topic] : [];
      } catch {
        return [];
      } finally {
        ended.abort();
      }
    }),
  );
  return gone.flat();
}
