/** Order of rows that are read again while somebody points at them: nothing moves under the pointer. */

import { type RefObject, useEffect, useRef, useState } from "react";

type Row = { id: string };

/** Rows in the order that was held, and how many more there are by now. */
export function inHeldOrder<T extends Row>(
  rows: readonly T[],
  held: readonly string[],
): { shown: T[]; fresh: number } {
  const byId = new Map(rows.map((row) => [row.id, row]));
  const shown = held.flatMap((id) => byId.get(id) ?? []);
  return { shown, fresh: rows.length - shown.length };
}

/** `key`: what the list is of; another list has an order of its own. */
export function useHeldOrder<T extends Row>(
  rows: readonly T[],
  key: string,
  box: RefObject<HTMLElement | null>,
): { shown: readonly T[]; fresh: number; show: () => void } {
  const [pointed, setPointed] = useState(false);
  const held = useRef<{ key: string; ids: readonly string[] }>({ key, ids: [] });
  const isThere = rows.length > 0;
  useEffect(() => {
    const list = box.current;
    if (list === null || !isThere) return;
    const point = (on: boolean) => (event: PointerEvent) => {
      if (event.pointerType === "mouse") setPointed(on);
    };
    const [enter, leave] = [point(true), point(false)];
    list.addEventListener("pointerenter", enter);
    list.addEventListener("pointerleave", leave);
    return () => {
      list.removeEventListener("pointerenter", enter);
      list.removeEventListener("pointerleave", leave);
    };
  }, [box, isThere]);
  if (!pointed || held.current.key !== key || held.current.ids.length === 0) {
    held.current = { key, ids: rows.map(({ id }) => id) };
  }
  return { ...inHeldOrder(rows, held.current.ids), show: () => setPointed(false) };
}
