/** Enter in a search field: takes the first result, also where the answer comes after the key. */

import { useEffect, useRef } from "react";

/** What a wish of these words takes of the answer to the words of now; undefined: nothing yet, or no longer. */
export function due<T>(
  wish: string | undefined,
  words: string,
  answer: readonly T[] | undefined,
): T | undefined {
  return wish === words ? answer?.[0] : undefined;
}

/**
 * `answer`: the results of these words, none before they have come. Gives what Enter calls. Words
 * that are changed after it take the wish back, and so does an answer without results.
 */
export function useEnterFirst<T>(
  words: string,
  answer: readonly T[] | undefined,
  take: (first: T) => void,
): () => void {
  const wish = useRef<string>(undefined);
  const settle = () => {
    const first = due(wish.current, words, answer);
    if (wish.current !== words || answer !== undefined) wish.current = undefined;
    if (first !== undefined) take(first);
  };
  useEffect(settle);
  return () => {
    wish.current = words;
    settle();
  };
}
