/** States of a run. */
export type Status = "queued" | "running" | "paused" | "succeeded" | "failed" | "cancelled";
