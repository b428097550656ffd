/** Dispatcher of keyboard shortcuts: sequences, layers, and silence in fields. */

import { useEffect, useRef } from "react";

type Handler = (event: KeyboardEvent) => void;
type Layer = ReadonlyMap<string, Handler>;

const SEQUENCE_MS = 1_200;

const layers: Layer[] = [];
let pending = "";
let pendingSince = 0;
let singleKeys = true;

/** Turns shortcuts of single keys off and on (WCAG 2.1.4); those with a modifier stay. */
export function setSingleKeys(on: boolean): void {
  singleKeys = on;
}

/** Whether keys typed at this place are text, or move through one that is only read. */
export function takesText(target: EventTarget | null): boolean {
  if (!(target instanceof HTMLElement)) return false;
  if (target.isContentEditable || target.role === "textbox") return true;
  if (target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement) return true;
  if (!(target instanceof HTMLInputElement)) return false;
  return !["button", "checkbox", "radio", "submit", "range", "color"].includes(target.type);
}

/** The stroke as shortcuts spell it: `mod+k`, `shift+x`, `?`. */
export function stroke(
  event: Pick<KeyboardEvent, "key" | "metaKey" | "ctrlKey" | "altKey" | "shiftKey">,
): string {
  const key = event.key.length === 1 ? event.key.toLowerCase() : named(event.key);
  const letter = /^[a-z]$/.test(key);
  const parts = [
    (event.metaKey || event.ctrlKey) && "mod",
    event.altKey && "alt",
    // Of signs such as `?` the shift is part already.
    event.shiftKey && (letter || key.length > 1) && "shift",
    key,
  ];
  return parts.filter(Boolean).join("+");
}

function named(key: string): string {
  if (key.startsWith("Arrow")) return key.slice(5).toLowerCase();
  return key.toLowerCase();
}

function onKey(event: KeyboardEvent): void {
  if (event.defaultPrevented || event.isComposing) return;
  const pressed = stroke(event);
  const modified = event.metaKey || event.ctrlKey;
  if (!modified && (takesText(event.target) || !singleKeys)) return;
  // Arrows, enter and space belong to the widget that has the focus.
  if (!modified && event.target instanceof HTMLElement && ownsKey(event.target, pressed)) return;
  const fresh = event.timeStamp - pendingSince < SEQUENCE_MS;
  const sequence = pending !== "" && fresh ? `${pending} ${pressed}` : pressed;
  pending = "";
  for (const layer of layers.toReversed()) {
    const handler = layer.get(sequence) ?? layer.get(pressed);
    if (handler !== undefined) {
      event.preventDefault();
      handler(event);
      return;
    }
    if ([...layer.keys()].some((keys) => keys.startsWith(`${pressed} `))) {
      pending = pressed;
      pendingSince = event.timeStamp;
      return;
    }
  }
}

const WIDGETS =
  "[role=menu],[role=listbox],[role=tree],[role=tablist],[role=radiogroup],[role=dialog]";

function ownsKey(target: HTMLElement, pressed: string): boolean {
  if (pressed === "enter" || pressed === " ") {
    return target.closest("a,button,summary,[role=button],[role=option]") !== null;
  }
  if (["up", "down", "left", "right", "home", "end"].includes(pressed)) {
    return target.closest(WIDGETS) !== null || scrolls(target);
  }
  // A dialog or an open menu is over the page: its keys are not the page's.
  return (
    // A message is a dialog to readers, and lies over nothing.
    target.closest("[role=dialog]:not(.toast),[role=menu],[role=listbox]") !== null &&
    pressed !== "?"
  );
}

/** Whether arrows scroll what has the focus, such as a log. */
function scrolls(target: HTMLElement): boolean {
  if (target === document.body || target.matches("a,button")) return false;
  if (target.scrollHeight <= target.clientHeight) return false;
  return ["auto", "scroll"].includes(getComputedStyle(target).overflowY);
}

if (typeof document !== "undefined") document.addEventListener("keydown", onKey);

/** Adds shortcuts while the component is mounted; the newest layer is asked first, and one that is `below` after all others. */
export function useKeys(handlers: Record<string, Handler | undefined>, below = false): void {
  const current = useRef(handlers);
  current.current = handlers;
  const names = Object.keys(handlers)
    .filter((keys) => handlers[keys] !== undefined)
    .join("\n");
  useEffect(() => {
    const layer: Layer = new Map(
      names
        .split("\n")
        .filter((keys) => keys !== "")
        .map((keys) => [keys, (event) => current.current[keys]?.(event)]),
    );
    if (below) layers.unshift(layer);
    else layers.push(layer);
    return () => {
      layers.splice(layers.indexOf(layer), 1);
    };
  }, [names, below]);
}
