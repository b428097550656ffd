/** Text with the hits of a search marked. */

import type { ReactNode } from "react";

/** The text with the hits of the search marked. */
export function Marked({ text, words }: { text: string; words: string }) {
  if (words === "") return text;
  const parts: ReactNode[] = [];
  const lower = text.toLowerCase();
  const needle = words.toLowerCase();
  let from = 0;
  for (let at = lower.indexOf(needle); at >= 0; at = lower.indexOf(needle, from)) {
    parts.push(text.slice(from, at), <mark key={at}>{text.slice(at, at + needle.length)}</mark>);
    from = at + needle.length;
  }
  parts.push(text.slice(from));
  return parts;
}
