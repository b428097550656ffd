/** Rows of a live list that stay where they are while somebody reads it: newer ones wait until they are asked for. */

import { type RefObject, useEffect, useReducer, useRef, useState } from "react";

/** As far as a list may be scrolled and still count as being at its top, pixels. */
const TOP = 4;

type Row = { id: string };

type Held<T> = {
  shown: readonly T[];
  /** Rows that came since, in the order of the list. */
  fresh: readonly T[];
  /** So many came that none of those shown is among the rows that were read: there may be more. */
  isAtLeast: boolean;
};

/**
 * Rows that were shown, at their places and with what is known of them by now. Rows below the last of them, such as the next
 * page, are added; all others wait.
 */
export function heldRows<T extends Row>(
  held: readonly T[],
  rows: readonly T[],
  keepsGone: boolean,
): Held<T> {
  const ids = new Set(held.map(({ id }) => id));
  const byId = new Map(rows.map((row) => [row.id, row]));
  const last = rows.findLastIndex(({ id }) => ids.has(id));
  return {
    shown: [
      ...held.flatMap((row) => byId.get(row.id) ?? (keepsGone ? row : [])),
      ...(last < 0 ? [] : rows.slice(last + 1)),
    ],
    fresh: (last < 0 ? rows : rows.slice(0, last)).filter(({ id }) => !ids.has(id)),
    isAtLeast: last < 0 && rows.length > 0,
  };
}

/** Whether the pointer is on the list, or it was scrolled. */
function useIsRead(box: RefObject<HTMLElement | null>, isThere: boolean): boolean {
  const [isRead, setRead] = useState(false);
  const pointed = useRef(false);
  useEffect(() => {
    const list = box.current;
    if (list === null || !isThere) return;
    const look = () => {
      // On a narrow screen the page scrolls in place of the list.
      setRead(pointed.current || list.scrollTop > TOP || window.scrollY > TOP);
    };
    const point = (on: boolean) => (event: PointerEvent) => {
      if (event.pointerType !== "mouse") return;
      pointed.current = on;
      look();
    };
    const [enter, leave] = [point(true), point(false)];
    window.addEventListener("scroll", look, { capture: true, passive: true });
    list.addEventListener("pointerenter", enter);
    list.addEventListener("pointermove", enter);
    list.addEventListener("pointerleave", leave);
    return () => {
      window.removeEventListener("scroll", look, { capture: true });
      list.removeEventListener("pointerenter", enter);
      list.removeEventListener("pointermove", enter);
      list.removeEventListener("pointerleave", leave);
    };
  }, [box, isThere]);
  return isRead;
}

/**
 * Holds the list while the pointer is on it, while it is scrolled, and while it `isBusy`, until `show`.
 *
 * `key`: what the list is of; another list has rows of its own. `isWhole`: the rows are all that there are. `keepsGone`: rows
 * stay that were pushed out of what was read, or that the list has no more; else those leave that a whole list has no more.
 */
export function useHeldList<T extends Row>(
  rows: readonly T[],
  {
    key,
    box,
    isWhole,
    isBusy = false,
    keepsGone = false,
  }: {
    key: string;
    box: RefObject<HTMLElement | null>;
    isWhole: boolean;
    isBusy?: boolean;
    keepsGone?: boolean;
  },
): Held<T> & { show: () => void } {
  const isRead = useIsRead(box, rows.length > 0);
  const [, draw] = useReducer((n: number) => n + 1, 0);
  const held = useRef<{ key: string; rows: readonly T[] }>({ key, rows: [] });
  const holds = (isRead || isBusy) && held.current.key === key && held.current.rows.length > 0;
  const now = holds
    ? heldRows(held.current.rows, rows, keepsGone || !isWhole)
    : { shown: rows, fresh: [], isAtLeast: false };
  held.current = { key, rows: now.shown };
  return {
    ...now,
    isAtLeast: now.isAtLeast && !isWhole,
    show: () => {
      box.current?.scrollTo({ top: 0 });
      window.scrollTo({ top: 0 });
      held.current = { key, rows: [] };
      draw();
    },
  };
}
