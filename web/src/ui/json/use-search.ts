/** Search in a JSON value, after a short pause in typing. */

import { useEffect, useRef, useState } from "react";
import { type Hit, search } from "./model";

const WAIT_MS = 120;

/** Hits of the words, found after a short pause in typing; `step` goes round. */
export function useSearch(value: unknown, words: string) {
  const [state, setState] = useState<{ hits: readonly Hit[]; at: number; done: boolean }>({
    hits: [],
    at: 0,
    done: true,
  });
  const latest = useRef(state);
  latest.current = state;
  useEffect(() => {
    if (words === "") {
      setState({ hits: [], at: 0, done: true });
      return;
    }
    setState({ hits: [], at: 0, done: false });
    const timer = setTimeout(() => {
      setState({ hits: search(value, words), at: 0, done: true });
    }, WAIT_MS);
    return () => clearTimeout(timer);
  }, [value, words]);
  const step = (by: 1 | -1) => {
    const { hits, at } = latest.current;
    if (hits.length === 0) return;
    setState({ ...latest.current, at: (at + by + hits.length) % hits.length });
  };
  return { ...state, step };
}
