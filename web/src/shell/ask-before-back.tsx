/** Blocks the browser's Back and Forward while a dialog on the page asks about typed text. */

import { useBlocker } from "@tanstack/react-router";
import { asksBeforeBack } from "~/ui/back-guard";

export function AskBeforeBack() {
  useBlocker({
    // What a dialog itself does may lead to another page: it is done with its text then.
    shouldBlockFn: ({ action }) =>
      (action === "BACK" || action === "FORWARD" || action === "GO") && asksBeforeBack(),
    enableBeforeUnload: false,
  });
  return null;
}
