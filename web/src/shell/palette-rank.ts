/** Order of the results of the palette. Pure. */

type Found = { label: string; also?: string; note?: string };

/** How well an act fits a query, less is better: its name begins so, a word of it does, its name holds it, what is said beside it does. */
function rankOf({ label, also = "", note = "" }: Found, query: string): number | undefined {
  const words = query.toLowerCase().trim().split(/\s+/);
  const name = label.toLowerCase();
  const beside = `${also} ${note}`.toLowerCase();
  let worst = 0;
  for (const word of words) {
    const rank = name.startsWith(word)
      ? 0
      : name.split(/[^\p{L}\p{N}]+/u).some((each) => each.startsWith(word))
        ? 1
        : name.includes(word)
          ? 2
          : beside.split(/\s+/).some((each) => each.startsWith(word))
            ? 3
            : undefined;
    if (rank === undefined) return undefined;
    worst = Math.max(worst, rank);
  }
  return worst;
}

/** Beside what has every word somewhere. */
const ELSEWHERE = 4;

/** What fits, the best first; groups in the order of their best. Items of a group that `fits` were looked for already. */
export function ranked<A extends Found>(
  groups: readonly { value: string; items: readonly A[]; fits?: boolean }[],
  query: string,
) {
  return groups
    .map((group) => {
      const fits = group.items.flatMap((act) => {
        const rank = rankOf(act, query) ?? (group.fits === true ? ELSEWHERE : undefined);
        return rank === undefined ? [] : [{ act, rank }];
      });
      fits.sort((one, other) => one.rank - other.rank);
      return {
        ...group,
        best: fits[0]?.rank ?? Number.POSITIVE_INFINITY,
        items: fits.map(({ act }) => act),
      };
    })
    .filter(({ items }) => items.length > 0)
    .sort((one, other) => one.best - other.best);
}
