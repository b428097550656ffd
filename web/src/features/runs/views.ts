/** Views of lists of runs; a file of its own, as addresses name them before the page is loaded. */

export const VIEWS = {
  all: { name: "All", says: "of all workflows and sources", query: {} },
  trouble: {
    name: "Failed or paused",
    says: "that failed or are paused",
    query: { status: "failed,paused" },
  },
  open: {
    name: "Unfinished",
    says: "that have not ended",
    query: { status: "queued,running,paused" },
  },
  slow: { name: "Slower than 10 s", says: "that took longer than 10 s", query: { min_ms: 10_000 } },
  tests: { name: "Tests", says: "that were tests", query: { kind: "test" } },
} as const;

export type RunView = keyof typeof VIEWS;

export const VIEW_NAMES: readonly RunView[] = ["all", "trouble", "open", "slow", "tests"];

export function isRunView(text: string): text is RunView {
  return VIEW_NAMES.some((view) => view === text);
}
