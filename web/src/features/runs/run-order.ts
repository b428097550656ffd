/** Order of the list from which a run was opened, for going to the next run. */

let order: readonly string[] = [];

/** The runs of the list that is shown, in its order. */
export function rememberRuns(ids: readonly string[]): void {
  order = ids;
}

export type Neighbours = {
  /** Place in the list, from 1, and how many it shows. */
  at: number;
  of: number;
  /** The run above, and the one below. */
  previous: string | undefined;
  next: string | undefined;
};

/** Runs beside this one in the list it was opened from; nothing where it was opened otherwise. */
export function neighboursOf(id: string, ids: readonly string[] = order): Neighbours | undefined {
  const at = ids.indexOf(id);
  if (at < 0 || ids.length < 2) return undefined;
  return { at: at + 1, of: ids.length, previous: ids[at - 1], next: ids[at + 1] };
}
