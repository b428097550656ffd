/** Text of a dialog that survives a reload, until the dialog closes. */

import { useEffect, useState } from "react";
import { forget, keep, keptOf } from "./kept";

/** Longer texts would be written whole with each key. */
const LONGEST = 256 * 1024;

/**
 * Text of a dialog: after a reload it is there again once the dialog opens. It is forgotten as the dialog closes.
 * `name`: its name among all that is kept. Never for secrets.
 */
export function useKeptText(
  name: string,
  first: string | (() => string) = "",
): [string, (text: string) => void] {
  const [text, setText] = useState(() => {
    const kept = keptOf(name)?.value;
    if (typeof kept === "string") return kept;
    return typeof first === "string" ? first : first();
  });
  // A reload ends the page without this.
  useEffect(() => () => forget(name), [name]);
  const set = (next: string) => {
    setText(next);
    if (next.length <= LONGEST) keep(name, next);
    else forget(name);
  };
  return [text, set];
}
