/** On a narrow screen what is chosen takes the place of the cards; the focus goes with it. */

import { type RefObject, useEffect, useLayoutEffect, useRef, useState } from "react";

type NarrowPanel = {
  /** Whether the cards are shown, where there is no room for both. */
  listed: boolean;
  list: (listed: boolean) => void;
  main: RefObject<HTMLElement | null>;
  /** Holds the way back to the cards, which only a narrow screen shows. */
  back: RefObject<HTMLDivElement | null>;
};

/** `chosen` is what the address names. A run that it names opens the step that failed. */
export function useNarrowPanel(chosen: string | undefined, run: string | undefined): NarrowPanel {
  const [listed, list] = useState(chosen === undefined && run === undefined);
  const main = useRef<HTMLElement>(null);
  const back = useRef<HTMLDivElement>(null);
  const before = useRef(listed);
  useEffect(() => {
    if (chosen !== undefined) list(false);
  }, [chosen]);
  useLayoutEffect(() => {
    if (before.current === listed) return;
    before.current = listed;
    const panel = main.current;
    const cards = panel?.parentElement?.querySelector<HTMLElement>(".bld-steps");
    if (listed) cards?.querySelector<HTMLElement>(".card.is-on > button")?.focus();
    else if (back.current?.checkVisibility() && cards?.contains(document.activeElement))
      panel?.focus({ preventScroll: true });
  }, [listed]);
  // The offset of the page is that of the list still.
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step is shown from its top
  useEffect(() => {
    if (listed || !back.current?.checkVisibility()) return;
    const frame = requestAnimationFrame(() => window.scrollTo({ top: 0 }));
    return () => cancelAnimationFrame(frame);
  }, [listed, chosen]);
  return { listed, list, main, back };
}
