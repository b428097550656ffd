/** Text of dialogs and forms that survives a reload. */

import { useEffect, useMemo, useState } from "react";
import { forget, keep, keptOf } from "./kept";
import { ownName } from "./kept-tabs";

/** Longer texts would be written whole with each key. */
const LONGEST = 256 * 1024;

/**
 * Text of a dialog: after a reload it is there again once the dialog opens. It is forgotten as the
 * dialog closes, which asks first where `isTyped`, the last of the three, is handed to it as `typed`.
 * `of`: its name among all that is kept; each tab keeps its own. Never for secrets.
 */
export function useKeptText(
  of: string,
  first: string | (() => string) = "",
): [text: string, set: (text: string) => void, isTyped: boolean] {
  const name = useMemo(() => ownName(of), [of]);
  const [begin] = useState(first);
  const [text, setText] = useState(() => {
    const kept = keptOf(name)?.value;
    return typeof kept === "string" ? kept : begin;
  });
  // A reload ends the page without this.
  useEffect(() => () => forget(name), [name]);
  const set = (next: string) => {
    setText(next);
    if (next.length <= LONGEST) keep(name, next);
    else forget(name);
  };
  return [text, set, text !== begin];
}

/** Longer texts of forms: they outlive their page in this tab alone, so a reload asks first. */
const longTexts = new Map<string, string>();

function asksBeforeReload(event: BeforeUnloadEvent): void {
  if (longTexts.size > 0) event.preventDefault();
}

function keepText(name: string, text: string): void {
  if (text.length > LONGEST) {
    forget(name);
    longTexts.set(name, text);
    addEventListener("beforeunload", asksBeforeReload);
  } else {
    longTexts.delete(name);
    keep(name, text);
  }
}

/** Ends what is kept of a form whose thing is gone. */
export function forgetText(of: string): void {
  forgetOwn(ownName(of));
}

function forgetOwn(name: string): void {
  longTexts.delete(name);
  forget(name);
}

/**
 * Text of a form on a page: kept until `done`, which says what is stored from then on, also after
 * the page was left. `stored`: what it is before anything is typed. Never for secrets.
 */
export function useKeptField(
  of: string,
  stored = "",
): { text: string; set: (text: string) => void; done: (text: string) => void } {
  const name = useMemo(() => ownName(of), [of]);
  const [text, setText] = useState(() => {
    const kept = longTexts.get(name) ?? keptOf(name)?.value;
    return typeof kept === "string" ? kept : stored;
  });
  return {
    text,
    set: (next) => {
      setText(next);
      if (next === stored) forgetOwn(name);
      else keepText(name, next);
    },
    done: (next) => {
      setText(next);
      forgetOwn(name);
    },
  };
}
