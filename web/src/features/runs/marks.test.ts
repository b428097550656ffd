import { expect, test } from "vitest";
import type { RunRow } from "~/api/run-list";
import { entriesOf, type Mark } from "./marks";

const row = (id: string, ownerId: string, acceptedAt: number, version?: number): RunRow => ({
  id,
  ownerId,
  acceptedAt,
  version,
  status: "succeeded",
  kind: "live",
  isWorkflow: true,
  ownerName: ownerId,
  error: undefined,
  summary: undefined,
  steps: [],
  startedAt: undefined,
  finishedAt: undefined,
  replayOf: undefined,
  paused: undefined,
});

const mark = (id: string, owner: string, at: number, version: number): Mark => ({
  id,
  owner,
  at,
  version,
  content: null,
});

const idsOf = (entries: readonly { id: string }[]) => entries.map(({ id }) => id).join(" ");

test("a deployment lies between the runs before and after it, also within its second", () => {
  const rows = [row("c", "p_a", 5_900, 2), row("b", "p_a", 5_100, 1), row("a", "p_a", 4_000, 1)];
  expect(idsOf(entriesOf(rows, [mark("v2", "p_a", 5_000, 2)], false))).toBe("c v2 b a");
});

test("versions of another owner do not count within a second", () => {
  const rows = [row("b", "p_a", 5_900, 1), row("a", "p_a", 4_000, 1)];
  expect(idsOf(entriesOf(rows, [mark("v9", "p_b", 5_000, 9)], false))).toBe("b v9 a");
});

test("marks older than what is shown wait until no older run follows", () => {
  const rows = [row("a", "p_a", 5_000, 1)];
  const marks = [mark("v1", "p_a", 3_000, 1)];
  expect(idsOf(entriesOf(rows, marks, false))).toBe("a");
  expect(idsOf(entriesOf(rows, marks, true))).toBe("a v1");
});
