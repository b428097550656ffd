/** Connection state: lost when a request gets no answer, found when one does. */

import { useEffect, useState, useSyncExternalStore } from "react";
import { minute } from "~/ui/format";
import { Glyph } from "~/ui/status";
import "./connection.css";

type Connection = { lostAt: number; nextTry: number } | null;

const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 15_000;

let connection: Connection = null;
let wait = FIRST_WAIT_MS;
let timer: ReturnType<typeof setTimeout> | undefined;
const listeners = new Set<() => void>();
let onFound: () => void = () => {};

function set(next: Connection): void {
  connection = next;
  for (const each of listeners) each();
}

/** Called once, with what reads everything again. */
export function whenFound(again: () => void): void {
  onFound = again;
}

export function lost(): void {
  if (connection !== null) return;
  wait = FIRST_WAIT_MS;
  set({ lostAt: Date.now(), nextTry: Date.now() + wait });
  schedule();
}

export function found(): void {
  if (connection === null) return;
  clearTimeout(timer);
  set(null);
  onFound();
}

function schedule(): void {
  clearTimeout(timer);
  timer = setTimeout(() => void attempt(), wait);
}

const isThere = () =>
  fetch("/readyz", { cache: "no-store" }).then(
    (response) => response.ok,
    () => false,
  );

let asks = false;

/** Asks whether the server is still there: a stream ended, which alone says little. */
export async function check(): Promise<void> {
  if (connection !== null || asks) return;
  asks = true;
  const answered = await isThere();
  asks = false;
  if (!answered) lost();
}

/** Asks whether the server is there again. */
export async function attempt(): Promise<void> {
  clearTimeout(timer);
  if (await isThere()) return found();
  wait = Math.min(wait * 2, LONGEST_WAIT_MS);
  if (connection !== null) set({ ...connection, nextTry: Date.now() + wait });
  schedule();
}

export function useConnection(): Connection {
  return useSyncExternalStore(
    (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    () => connection,
  );
}

/** The seconds are for the eye: readers are told once that the connection is lost. */
function Countdown({ to }: { to: number }) {
  const [left, setLeft] = useState(() => secondsTo(to));
  useEffect(() => {
    setLeft(secondsTo(to));
    const timer = setInterval(() => setLeft(secondsTo(to)), 1_000);
    return () => clearInterval(timer);
  }, [to]);
  return (
    <span className="num" aria-hidden="true">
      {left > 0 ? `in ${left} s` : "now"}
    </span>
  );
}

const secondsTo = (at: number) => Math.max(0, Math.ceil((at - Date.now()) / 1_000));

export function ConnectionBanner() {
  const state = useConnection();
  useEffect(() => {
    // The browser knows sooner than the next try.
    const online = () => void attempt();
    window.addEventListener("online", online);
    return () => window.removeEventListener("online", online);
  }, []);
  if (state === null) return null;
  return (
    <div className="lost" role="status">
      <Glyph status="queued" />
      <p>
        <b>No connection since {minute(state.lostAt)}.</b> Retrying <Countdown to={state.nextTry} />
        . What you typed is kept.
      </p>
      <button type="button" className="link end" onClick={() => void attempt()}>
        Retry now
      </button>
    </div>
  );
}
