/**
 * Names under which each tab keeps what is typed in it, so that two tabs do not overwrite each
 * other's text. What a closed tab left is taken over by the next one that opens the same form.
 */

import { KEPT, keptOf, keptUnder, moveKept, tabName } from "./kept";

const LOCK = "millrace.tab.";

/** Tabs that are open, as far as this one knows; `undefined`: this browser does not say. */
let open: Set<string> | undefined;

/** A tab that keeps something is open, also one that was opened after this one. */
function onStored({ key, newValue }: StorageEvent): void {
  if (key === null || newValue === null || !key.startsWith(KEPT)) return;
  const at = key.lastIndexOf("@");
  if (at !== -1) open?.add(key.slice(at + 1));
}

async function watch(): Promise<void> {
  // Plain HTTP on another host has no locks.
  if (!("locks" in navigator)) return;
  open = new Set();
  addEventListener("storage", onStored);
  // Held as long as the page lives, by which the other tabs know that it does.
  navigator.locks.request(LOCK + tabName(), () => new Promise(() => {})).catch(() => undefined);
  const { held = [] } = await navigator.locks.query();
  for (const { name } of held) {
    if (name?.startsWith(LOCK)) open.add(name.slice(LOCK.length));
  }
}

/** Once the open tabs are known: nothing is taken over from one of them after that. */
export const tabsKnown: Promise<void> = watch().catch(() => undefined);

/** Name under which this tab keeps what others keep under `name` with their own. */
export function ownName(name: string): string {
  const own = `${name}@${tabName()}`;
  if (keptOf(own) !== undefined) return own;
  const left = keptUnder(`${name}@`).find(
    (each) => open?.has(each.slice(name.length + 1)) !== true,
  );
  if (left !== undefined) moveKept(left, own);
  return own;
}
