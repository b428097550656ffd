/** Stretches of a run's time, from its record: what the channel in lists and on the run's page is drawn of. */

export type StretchKind =
  | "queued"
  | "starting"
  | "done"
  | "running"
  | "retried"
  | "lost"
  | "wait"
  | "idle"
  | "paused"
  | "failed"
  | "dry";

export type Stretch = { kind: StretchKind; from: number; to: number; label?: string };
