import { expect, test } from "vitest";
import type { RunRow } from "~/api/run-list";
import { withHead } from "./pages";

const row = (at: number): RunRow => ({
  id: `run_${at}`,
  acceptedAt: at,
  status: "succeeded",
  kind: "live",
  ownerId: "p_1",
  isWorkflow: true,
  ownerName: "One",
  error: undefined,
  summary: undefined,
  steps: [],
  startedAt: undefined,
  finishedAt: undefined,
  version: undefined,
  replayOf: undefined,
  paused: undefined,
});

/** From the newest down. */
const rows = (from: number, to: number) =>
  Array.from({ length: from - to + 1 }, (_, n) => row(from - n));

test("the newest page goes before what was read, which stays behind it", () => {
  expect(withHead(rows(120, 71), rows(115, 1))?.map(({ acceptedAt }) => acceptedAt)).toEqual(
    rows(120, 1).map(({ acceptedAt }) => acceptedAt),
  );
});

test("what the newest page covers and has no more is gone", () => {
  const head = rows(121, 70).filter(({ acceptedAt }) => ![100, 90].includes(acceptedAt));
  expect(head).toHaveLength(50);
  const merged = withHead(head, rows(115, 1));
  expect(merged?.some(({ acceptedAt }) => [100, 90].includes(acceptedAt))).toBe(false);
  expect(merged?.at(-1)?.acceptedAt).toBe(1);
});

test("where more came at once than a page holds, the list begins anew", () => {
  expect(withHead(rows(300, 251), rows(115, 1))).toBeUndefined();
});
