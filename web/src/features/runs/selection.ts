/** Rows that are chosen: some of those that are shown, or all that the filter matches. */

import { useState } from "react";

export type Selection = {
  chosen: ReadonlySet<string>;
  /** Beyond those that are shown. */
  isAll: boolean;
  size: number;
  toggle: (id: string) => void;
  add: (ids: readonly string[]) => void;
  all: () => void;
  none: () => void;
};

const nothing: ReadonlySet<string> = new Set();

/** `key` is what the list is of: a choice ends with it. A row that the list shows no more is not chosen. */
export function useSelection(key: string, shown: readonly string[], total: number): Selection {
  const [state, setState] = useState({ key, chosen: nothing, isAll: false });
  const here = state.key === key ? state : { key, chosen: nothing, isAll: false };
  const chosen = new Set(here.isAll ? shown : shown.filter((id) => here.chosen.has(id)));
  const choose = (next: ReadonlySet<string>) => setState({ key, chosen: next, isAll: false });
  return {
    chosen,
    isAll: here.isAll,
    size: here.isAll ? Math.max(total, chosen.size) : chosen.size,
    toggle: (id) => {
      const next = new Set(chosen);
      if (!next.delete(id)) next.add(id);
      choose(next);
    },
    add: (ids) => choose(new Set([...chosen, ...ids])),
    all: () => setState({ key, chosen: nothing, isAll: true }),
    none: () => choose(nothing),
  };
}
