/**
 * Names under which each tab keeps what is typed in it, so that two tabs do not overwrite each
 * other's text. What a closed tab left is taken over by the next one that opens the same form.
 */

import { KEPT, keptOf, keptUnder, moveKept, newTabName, tabName } from "./kept";

const LOCK = "millrace.tab.";
const CHANNEL = "millrace.tabs";
const WHO = "?";

/** The page before a reload may hold its lock a moment longer than it is shown. */
const RELEASE_MS = 1_000;
/** In which other tabs answer where there are no locks. */
const ANSWER_MS = 150;

/** Tabs that are open, as far as this one knows; `undefined`: this browser does not say. */
let open: Set<string> | undefined;

/** A tab that keeps something is open, also one that was opened after this one. */
function onStored({ key, newValue }: StorageEvent): void {
  if (key === null || newValue === null || !key.startsWith(KEPT)) return;
  const at = key.lastIndexOf("@");
  if (at !== -1) open?.add(key.slice(at + 1));
}

/** Holds the lock of a name as long as the page lives; whether no other page holds it. */
function holds(name: string): Promise<boolean> {
  return new Promise((resolve) => {
    const signal = AbortSignal.timeout(RELEASE_MS);
    navigator.locks
      .request(LOCK + name, { signal }, () => {
        resolve(true);
        return new Promise(() => {});
      })
      .catch(() => resolve(false));
  });
}

async function watchLocks(known: Set<string>): Promise<void> {
  // A duplicated tab has the name of the first, which holds it.
  if (!(await holds(tabName()))) await holds(newTabName());
  const { held = [] } = await navigator.locks.query();
  for (const { name } of held) {
    if (name?.startsWith(LOCK)) known.add(name.slice(LOCK.length));
  }
}

/** Plain HTTP on another host has no locks: the tabs ask each other. */
async function watchAnswers(known: Set<string>): Promise<void> {
  const channel = new BroadcastChannel(CHANNEL);
  channel.onmessage = ({ data }) => {
    if (data === WHO) channel.postMessage(tabName());
    else if (typeof data === "string") known.add(data);
  };
  channel.postMessage(WHO);
  await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
  if (known.has(tabName())) newTabName();
}

async function watch(): Promise<void> {
  const hasLocks = "locks" in navigator;
  if (!hasLocks && !("BroadcastChannel" in window)) return;
  open = new Set();
  addEventListener("storage", onStored);
  await (hasLocks ? watchLocks(open) : watchAnswers(open));
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
