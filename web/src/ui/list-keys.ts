/** Moving through a list by keys: `j`, `k`, enter, and selection by `x`. */

import { useState } from "react";
import { useKeys } from "./keyboard";

type Options = {
  /** Identities of the rows, in their order. */
  ids: readonly string[];
  onOpen?: (id: string) => void;
  /** Called with the rows between the last that was selected and this one. */
  onSelect?: (ids: readonly string[], toggles: boolean) => void;
};

/** The row under the keys, by its identity: rows that come above do not move it. */
export function useListKeys({ ids, onOpen, onSelect }: Options) {
  const [current, setCurrent] = useState<string | undefined>(undefined);
  const [last, setLast] = useState<string | undefined>(undefined);
  const index = current === undefined ? -1 : ids.indexOf(current);
  const move = (by: number) => {
    const next = ids[Math.min(ids.length - 1, Math.max(0, index + by))];
    if (next !== undefined) setCurrent(next);
  };
  const range = (to: string): string[] => {
    const from = last === undefined ? -1 : ids.indexOf(last);
    const end = ids.indexOf(to);
    if (from < 0 || end < 0) return [to];
    return ids.slice(Math.min(from, end), Math.max(from, end) + 1);
  };
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    enter: current === undefined ? undefined : () => onOpen?.(current),
    x:
      current === undefined || onSelect === undefined
        ? undefined
        : () => {
            onSelect([current], true);
            setLast(current);
          },
    "shift+x":
      current === undefined || onSelect === undefined
        ? undefined
        : () => {
            onSelect(range(current), false);
            setLast(current);
          },
  });
  return { current, index, setCurrent, range, setLast };
}

/** `j` and `k` go from row to row on pages whose lists have no keys of their own; the browser opens the row that has the focus. */
export function useRowKeys(): void {
  const go = (by: number) => () => {
    const rows = [...document.querySelectorAll<HTMLElement>("main .row-link")].filter((row) =>
      row.checkVisibility(),
    );
    const { activeElement } = document;
    const at = activeElement instanceof HTMLElement ? rows.indexOf(activeElement) : -1;
    rows[Math.min(rows.length - 1, Math.max(0, at + by))]?.focus();
  };
  useKeys({ j: go(1), k: go(-1) }, true);
}
