/** Rows that came while somebody reads the list: they wait, so that nothing moves under the pointer. */

import { type RefObject, useEffect, useRef, useState } from "react";

/** As far as a list may be scrolled and still count as being at its top, pixels. */
const TOP = 4;

/** How many of the rows came above the one that was the first. */
export function freshCount(ids: readonly string[], held: string | undefined): number {
  return held === undefined ? 0 : Math.max(0, ids.indexOf(held));
}

/** Rows to show, and how many newer ones wait until the list is at its top, without the pointer on it, or until `show`. */
export function useFresh<T extends { id: string }>(
  rows: readonly T[],
  scroll: RefObject<HTMLElement | null>,
  busy: boolean,
): { shown: readonly T[]; fresh: readonly T[]; show: () => void } {
  const first = rows[0]?.id;
  const [held, setHeld] = useState(first);
  const [away, setAway] = useState(false);
  const pointed = useRef(false);
  useEffect(() => {
    const box = scroll.current;
    if (box === null) return;
    const look = () => {
      // On a narrow screen the page scrolls in place of the list.
      setAway(pointed.current || box.scrollTop > TOP || window.scrollY > TOP);
    };
    const point = (on: boolean) => (event: PointerEvent) => {
      if (event.pointerType !== "mouse") return;
      pointed.current = on;
      look();
    };
    const [enter, leave] = [point(true), point(false)];
    window.addEventListener("scroll", look, { capture: true, passive: true });
    box.addEventListener("pointerenter", enter);
    box.addEventListener("pointermove", enter);
    box.addEventListener("pointerleave", leave);
    return () => {
      window.removeEventListener("scroll", look, { capture: true });
      box.removeEventListener("pointerenter", enter);
      box.removeEventListener("pointermove", enter);
      box.removeEventListener("pointerleave", leave);
    };
  }, [scroll]);
  const ids = rows.map(({ id }) => id);
  const count = freshCount(ids, held);
  const waits = (away || busy) && count > 0;
  if (!waits && held !== first) setHeld(first);
  return {
    shown: waits ? rows.slice(count) : rows,
    fresh: waits ? rows.slice(0, count) : [],
    show: () => {
      scroll.current?.scrollTo({ top: 0 });
      window.scrollTo({ top: 0 });
      setHeld(first);
    },
  };
}
