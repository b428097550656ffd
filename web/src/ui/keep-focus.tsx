/** Focus where its element goes: with a row that is deleted, or with the page that it was on. */

import { useLayoutEffect, useRef } from "react";

const CONTROLS = "a[href], button:not(:disabled), input:not(:disabled, [hidden]), select, textarea";

/** Focuses the heading of the page, where nothing else has the focus. */
export function focusHeading(): void {
  if (hasFocus()) return;
  const heading = document.querySelector<HTMLElement>("#main h1");
  if (heading === null) return;
  heading.tabIndex = -1;
  heading.focus({ preventScroll: true });
}

/**
 * Stands where the focus may go with its element: it moves to the row after the one that is gone, or
 * before it, or else to the heading.
 */
export function KeepFocus() {
  const place = useRef<HTMLSpanElement>(null);
  useLayoutEffect(() => {
    const here = place.current;
    return () => {
      const row = here?.closest("tr, li");
      const next = row?.nextElementSibling ?? row?.previousElementSibling;
      // Once the row is gone, and what was open over it has given the focus back.
      requestAnimationFrame(() => {
        if (row?.isConnected || hasFocus()) return;
        if (next?.isConnected) next.querySelector<HTMLElement>(CONTROLS)?.focus();
        focusHeading();
      });
    };
  }, []);
  return <span ref={place} hidden />;
}

const hasFocus = () => document.activeElement !== null && document.activeElement !== document.body;
