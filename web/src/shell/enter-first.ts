/** Enter in a search field: takes the first result, also where the answer comes after the key. */

import { useEffect, useRef } from "react";

/** The result that Enter takes. `entered`: the words at the key; `answer`: the results of `words`, once they are there. */
export function due<T>(
  entered: string | undefined,
  words: string,
  answer: readonly T[] | undefined,
): T | undefined {
  return entered === words ? answer?.[0] : undefined;
}

/**
 * Returns what Enter calls. `answer`: the results of these words, `undefined` before they are there.
 * A change of the words cancels a pending Enter, and so does an answer without results.
 */
export function useEnterFirst<T>(
  words: string,
  answer: readonly T[] | undefined,
  take: (first: T) => void,
): () => void {
  const entered = useRef<string>(undefined);
  const settle = () => {
    const first = due(entered.current, words, answer);
    if (entered.current !== words || answer !== undefined) entered.current = undefined;
    if (first !== undefined) take(first);
  };
  useEffect(settle);
  return () => {
    entered.current = words;
    settle();
  };
}
