/** Marks between the rows of a list of runs. Pure. */

import type { ReactNode } from "react";
import type { RunRow } from "~/api/run-list";

export type Mark = {
  id: string;
  /** Epoch milliseconds, to the second. */
  at: number;
  /** Runs of an older version lie before it, also within its second. */
  version: number;
  /** What was deployed: versions of others say nothing of the order. */
  owner: string;
  content: ReactNode;
};

/** Runs and marks in the order of time, the newest first; `whole`: no older run follows. */
export function entriesOf(
  rows: readonly RunRow[],
  marks: readonly Mark[],
  whole: boolean,
): (RunRow | Mark)[] {
  const entries: (RunRow | Mark)[] = [];
  let next = 0;
  for (const row of rows) {
    for (let mark = marks[next]; mark !== undefined && isBefore(row, mark); mark = marks[next]) {
      entries.push(mark);
      next += 1;
    }
    entries.push(row);
  }
  return whole ? [...entries, ...marks.slice(next)] : entries;
}

function isBefore(row: RunRow, mark: Mark): boolean {
  const second = Math.floor(row.acceptedAt / 1_000) * 1_000;
  if (second !== mark.at) return second < mark.at;
  const isOwn = row.ownerId === mark.owner;
  return isOwn && row.version !== undefined && row.version < mark.version;
}
