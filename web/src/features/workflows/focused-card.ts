/** Card that has the focus: keys act on its step, and not on the one that is open beside it. */

import { flushSync } from "react-dom";
import type { StepDraft } from "./model";

/** Step of the card that has the focus, else `open`. With the focus on a trigger's card it is none. */
export function focusedStep(
  steps: readonly StepDraft[],
  open: StepDraft | undefined,
): StepDraft | undefined {
  const card = document.activeElement?.closest<HTMLElement>(".cards > li");
  if (card == null) return open;
  return steps.find(({ key }) => key === card.dataset.step);
}

/** Runs a change of the cards; where one of them had the focus, the card of `next` has it then. */
export function keepingFocus(change: () => void, next: string | undefined): void {
  if (document.activeElement?.closest(".cards > li") == null) {
    change();
    return;
  }
  flushSync(change);
  if (next === undefined) return;
  document
    .querySelector<HTMLElement>(`.cards > li[data-step="${CSS.escape(next)}"] > button`)
    ?.focus();
}
