import { expect, test } from "vitest";
import { mapOf, type Parts } from "./model";

const none = { from_ms: 0, p50_ms: null, p95_ms: null };
const stats = (
  counts: { succeeded: number; failed: number; cancelled: number },
  from?: number,
) => ({
  from_ms: 0,
  to_ms: 3_600_000,
  bucket_ms: 300_000,
  looked_at_from_ms: from ?? null,
  total: { ...none, ...counts },
  buckets: [],
});

const parts: Parts = {
  sources: [
    { id: "dc_1", name: "A", active: true, inactive_reason: null },
    { id: "dc_2", name: "B", active: false, inactive_reason: "its account was lost" },
  ],
  workflows: [
    {
      id: "p_1",
      name: "Last",
      active: true,
      deployment_id: "d_1",
      triggers: [{ type: "source", id: "dc_1" }],
      stats: stats({ succeeded: 1_200, failed: 1, cancelled: 1 }),
    },
    {
      id: "p_2",
      name: "First",
      active: false,
      deployment_id: "d_2",
      triggers: [{ type: "source", id: "dc_2", event_name: "late" }],
    },
    { id: "p_3", name: "Draft", active: true, deployment_id: null, triggers: [{ type: "http" }] },
  ],
  webhooks: [
    {
      id: "wh_1",
      name: null,
      url: "https://x.example",
      active: true,
      failures: 5,
      paused_until: 60,
    },
  ],
  subscriptions: [
    { id: "s", emitter_id: "p_1", listener_id: "wh_1", event_name: "$errors" },
    { id: "s", emitter_id: "dc_1", listener_id: "p_1", event_name: "" },
    { id: "s", emitter_id: "gone", listener_id: "p_1", event_name: "" },
  ],
  always: [],
};

test("who emits to whom, each once, and nobody who is gone", () => {
  expect(mapOf(parts).edges).toEqual([
    { from: "dc_1", to: "p_1", says: "events" },
    { from: "dc_2", to: "p_2", says: "late" },
    { from: "p_1", to: "wh_1", says: "errors" },
  ]);
});

test("a wheel that stands still says why, and counts what ran", () => {
  const { source, workflow, webhook } = mapOf(parts).columns;
  expect(source.map(({ name, still }) => [name, still])).toEqual([
    ["B", "its account was lost"],
    ["A", undefined],
  ]);
  expect(workflow.map(({ name, still, runs, failed }) => [name, still, runs, failed])).toEqual([
    ["Draft", "not deployed", 0, 0],
    ["First", "switched off", 0, 0],
    ["Last", undefined, 1_202, 1],
  ]);
  expect(webhook).toMatchObject([
    { name: "https://x.example", still: "5 failures in a row, circuit open", until: 60_000 },
  ]);
});

test("where the server counts a part of the hour, it is said from when on", () => {
  const counted = stats({ succeeded: 100_000, failed: 0, cancelled: 0 }, 700);
  expect(mapOf(parts).countedFrom).toBeUndefined();
  expect(
    mapOf({ ...parts, sources: parts.sources.map((each) => ({ ...each, stats: counted })) })
      .countedFrom,
  ).toBe(700);
});

test("what is always listened to is an edge from each", () => {
  const always = [{ listener_id: "wh_1", event_name: "$errors" }];
  const { edges } = mapOf({ ...parts, subscriptions: [], always });
  expect(edges.filter(({ to }) => to === "wh_1").map(({ from }) => from)).toEqual([
    "dc_1",
    "dc_2",
    "p_1",
    "p_2",
    "p_3",
  ]);
});

test("where not all fit, what is joined to something is shown first", () => {
  const alone = Array.from({ length: 5 }, (_, at) => ({
    id: `dc_alone_${at}`,
    name: `${at}`,
    active: true,
    inactive_reason: null,
  }));
  const { columns, edges } = mapOf({ ...parts, sources: [...alone, ...parts.sources] }, 2);
  expect(columns.source.map(({ id }) => id).sort()).toEqual(["dc_1", "dc_2"]);
  expect(edges).toContainEqual({ from: "dc_1", to: "p_1", says: "events" });
  expect(columns.workflow).toHaveLength(2);
});
