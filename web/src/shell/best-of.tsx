/** Note below a list of found things: the search gives no more than its best matches. */

export const bestWords = (most: number) =>
  `The ${most} best matches. Type more to narrow the search.`;

/** `n` of at most `most` were found: of so many there may be more, which no page after this one has. */
export function BestOf({ n, most }: { n: number; most: number }) {
  if (n < most) return null;
  return <p className="small dim pad">{bestWords(most)}</p>;
}
