/** Status of a run: its word, and a shape that is seen without its colour. */

import "./status.css";
import { cn } from "./cn";

export const STATUSES = [
  "queued",
  "running",
  "paused",
  "succeeded",
  "failed",
  "cancelled",
] as const;
export type Status = (typeof STATUSES)[number];

export function isStatus(text: string): text is Status {
  return STATUSES.some((status) => status === text);
}

export const statusWord: Record<Status, string> = {
  queued: "Queued",
  running: "Running",
  paused: "Paused",
  succeeded: "Succeeded",
  failed: "Failed",
  cancelled: "Cancelled",
};

/** Shapes differ, so that a status is seen without its colour. The word stands beside it or is read instead. */
const shapes: Record<Status | "kept" | "waiting", React.ReactNode> = {
  succeeded: (
    <>
      <circle cx="8" cy="8" r="6.25" fill="var(--st-succeeded)" />
      <path
        d="m5.2 8.2 2 2 3.7-4.2"
        stroke="var(--bg-page)"
        strokeWidth="1.6"
        fill="none"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  running: (
    <>
      <circle cx="8" cy="8" r="5.5" fill="none" stroke="var(--line-strong)" strokeWidth="1.75" />
      <path
        d="M8 2.5A5.5 5.5 0 1 1 2.5 8"
        fill="none"
        stroke="var(--st-running)"
        strokeWidth="1.75"
        strokeLinecap="round"
      />
      <circle cx="8" cy="8" r="1.75" fill="var(--st-running)" />
    </>
  ),
  queued: (
    <circle
      cx="8"
      cy="8"
      r="5.5"
      fill="none"
      stroke="var(--st-queued)"
      strokeWidth="1.6"
      strokeDasharray="2.3 2.02"
    />
  ),
  paused: (
    <>
      <rect
        x="2.25"
        y="2.25"
        width="11.5"
        height="11.5"
        rx="2.5"
        fill="none"
        stroke="var(--st-paused)"
        strokeWidth="1.5"
      />
      <path
        d="M6.4 5.6v4.8M9.6 5.6v4.8"
        stroke="var(--st-paused)"
        strokeWidth="1.75"
        strokeLinecap="round"
      />
    </>
  ),
  failed: (
    <>
      <rect
        x="2.9"
        y="2.9"
        width="10.2"
        height="10.2"
        rx="1.6"
        transform="rotate(45 8 8)"
        fill="var(--st-failed)"
      />
      <path
        d="m6.2 6.2 3.6 3.6m0-3.6L6.2 9.8"
        stroke="var(--bg-page)"
        strokeWidth="1.6"
        strokeLinecap="round"
      />
    </>
  ),
  cancelled: (
    <>
      <circle cx="8" cy="8" r="5.5" fill="none" stroke="var(--st-cancelled)" strokeWidth="1.6" />
      <path d="m4.3 11.7 7.4-7.4" stroke="var(--st-cancelled)" strokeWidth="1.6" />
    </>
  ),
  kept: (
    <>
      <circle
        cx="8"
        cy="8"
        r="5.5"
        fill="var(--race-still)"
        stroke="var(--race-bank)"
        strokeWidth="1.2"
      />
      <path
        d="m5.6 8.1 1.7 1.7 3-3.5"
        stroke="var(--text-2)"
        strokeWidth="1.4"
        fill="none"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </>
  ),
  waiting: (
    <path
      d="M4 8h8"
      stroke="var(--st-cancelled)"
      strokeWidth="1.6"
      strokeLinecap="round"
      strokeDasharray="1.2 3"
    />
  ),
};

export type Shape = keyof typeof shapes;

/** The shape alone, hidden from readers: a word beside it says the same. */
export function Glyph({ status, small = false }: { status: Shape; small?: boolean }) {
  return (
    <svg
      className={cn("glyph", small && "is-sm", status === "running" && "turn")}
      viewBox="0 0 16 16"
      aria-hidden="true"
    >
      {shapes[status]}
    </svg>
  );
}

/** Shape and word, for rows. */
export function StatusMark({ status, word }: { status: Status; word?: string }) {
  return (
    <span className={cn("status", status === "failed" && "is-failed")}>
      <Glyph status={status} />
      {word ?? statusWord[status]}
    </span>
  );
}

/** Shape and word in a pill, for heads of pages only. */
export function StatusPill({ status, word }: { status: Status; word?: string }) {
  return (
    <span className={cn("pill", `is-${status}`)}>
      <Glyph status={status} />
      {word ?? statusWord[status]}
    </span>
  );
}
