import { describe, expect, it } from "vitest";
import { type RunDetail, runOf } from "~/api/runs";
import type { Run } from "~/api/schema";
import { stretchesOf, ticksOf, timelineOf } from "./timeline";

function run(more: Partial<Run>): RunDetail {
  return runOf({
    id: "run_1",
    workflow_id: "p_1",
    source_id: null,
    deployment_id: "d_1",
    status: "succeeded",
    kind: "live",
    attempt: 1,
    trigger_id: "hi_1",
    event: {},
    context: {},
    steps: [],
    return_value: null,
    exit_reason: null,
    deduped: 0,
    paused: null,
    duration_ms: 0,
    error: null,
    created_at: 1,
    created_at_ms: 1_000,
    started_at_ms: 1_084,
    finished_at_ms: 2_084,
    ...more,
  } as Run);
}

const plan = ["a", "b", "c"].map((name) => ({ name, disabled: false }));
const at = (timeline: ReturnType<typeof timelineOf>, name: string) => {
  const row = timeline.rows.find((row) => row.name === name);
  if (row === undefined) throw new Error(`no row ${name}`);
  return row;
};

describe("rows", () => {
  it("begin with the queue, then the steps one after the other, and end with what was not reached", () => {
    const failed = run({
      status: "failed",
      steps: [
        { namespace: "a", status: "succeeded", duration_ms: 200, exports: {} },
        { namespace: "b", status: "failed", exports: {} },
      ],
    });
    const timeline = timelineOf(failed, plan, 9_999);
    expect(timeline.rows.map(({ name, status, note }) => [name, status, note])).toEqual([
      ["trigger", "succeeded", "queued"],
      ["a", "succeeded", undefined],
      ["b", "failed", undefined],
      ["c", "waiting", "not reached"],
    ]);
    expect(at(timeline, "trigger").durationMs).toBe(84);
    expect(at(timeline, "b").durationMs).toBe(800);
    expect(at(timeline, "b").stretches.map(({ kind }) => kind)).toEqual(["failed"]);
  });

  it("show how long the process took to start where it is more than the queue", () => {
    const cold = run({
      steps: [
        { namespace: "a", status: "succeeded", started_at_ms: 1_384, duration_ms: 9, exports: {} },
      ],
    });
    const trigger = at(timelineOf(cold, plan, 9_999), "trigger");
    expect([trigger.durationMs, trigger.note]).toEqual([384, "starting"]);
    expect(trigger.stretches.map(({ kind, from, to }) => [kind, to - from])).toEqual([
      ["queued", 84],
      ["starting", 300],
    ]);
  });

  it("show the next step of a running run as running", () => {
    const running = run({
      status: "running",
      finished_at_ms: null,
      steps: [{ namespace: "a", status: "succeeded", duration_ms: 100, exports: {} }],
    });
    const timeline = timelineOf(running, plan, 1_500);
    expect(timeline.rows.map(({ status }) => status)).toEqual([
      "succeeded",
      "succeeded",
      "running",
      "waiting",
    ]);
  });

  it("show a source's code as one stretch", () => {
    const timeline = timelineOf(run({ workflow_id: null, source_id: "dc_1" }), [], 9_999);
    expect(timeline.rows.map(({ name }) => name)).toEqual(["trigger", "run"]);
  });

  it("show attempts that failed, and the wait after them", () => {
    const retried = run({
      steps: [
        {
          namespace: "a",
          status: "succeeded",
          // Of the last try; those before it are told apart.
          started_at_ms: 1_800,
          duration_ms: 200,
          exports: {},
          attempts: [
            {
              started_at_ms: 1_100,
              duration_ms: 200,
              error: { code: "Error", message: "ETIMEDOUT" },
            },
          ],
        },
      ],
    });
    const row = at(timelineOf(retried, [], 9_999), "a");
    expect(row.stretches.map(({ kind, from, to }) => [kind, from, to])).toEqual([
      ["retried", 1_100, 1_300],
      ["wait", 1_300, 1_800],
      ["done", 1_800, 2_000],
    ]);
    expect(row.note).toBe("attempt 2");
  });

  it("show results that a replay kept without time of this run", () => {
    const replay = run({
      replay_of: "run_0",
      context: { replay: true } as Run["context"],
      steps: [
        { namespace: "a", status: "succeeded", duration_ms: 700, exports: {} },
        { namespace: "b", status: "failed", started_at_ms: 1_500, exports: {} },
      ],
    });
    const timeline = timelineOf(replay, plan, 9_999);
    expect(at(timeline, "a")).toMatchObject({ status: "kept", durationMs: undefined });
    expect(at(timeline, "a").stretches).toEqual([]);
    expect(at(timeline, "b").status).toBe("failed");
  });

  it("show where a step ended with its process, what was kept, and that it ran again", () => {
    const lost = { started_at_ms: null, duration_ms: null, error: null };
    const crashed = run({
      attempt: 2,
      // Of the last attempt.
      started_at_ms: 9_000,
      finished_at_ms: 9_300,
      steps: [
        {
          namespace: "a",
          status: "succeeded",
          started_at_ms: 1_100,
          duration_ms: 400,
          exports: {},
        },
        {
          namespace: "b",
          status: "succeeded",
          started_at_ms: 9_100,
          duration_ms: 200,
          exports: {},
          attempts: [lost],
        },
      ],
    });
    const timeline = timelineOf(crashed, [], 9_999);
    const kinds = (name: string) =>
      at(timeline, name).stretches.map(({ kind, from, to }) => [kind, from, to]);
    // The queue ends where the first attempt began, and the gap is no pause.
    expect(at(timeline, "trigger").durationMs).toBe(100);
    expect(kinds("a")).toEqual([["done", 1_100, 1_500]]);
    expect(kinds("b")).toEqual([
      ["lost", 1_500, 9_100],
      ["done", 9_100, 9_300],
    ]);
    expect(timeline.lost).toEqual([{ step: "b", kept: 1 }]);
    expect(timeline.foldedMs).toBe(7_600);
  });
});

it("shows the step that a paused run waits in as paused, though its code ended", () => {
  const timeline = timelineOf(
    run({
      status: "paused",
      finished_at_ms: null,
      paused: { kind: "suspend", namespace: "b", until_ms: 60_000 },
      steps: [
        { namespace: "a", status: "succeeded", started_at_ms: 1_100, duration_ms: 5, exports: {} },
        { namespace: "b", status: "succeeded", started_at_ms: 1_105, duration_ms: 5, exports: {} },
      ],
    }),
    plan,
    9_000,
  );
  expect(timeline.rows.map(({ status }) => status)).toEqual([
    "succeeded",
    "succeeded",
    "paused",
    "waiting",
  ]);
});

describe("the scale", () => {
  const paused = run({
    attempt: 2,
    created_at_ms: 0,
    started_at_ms: 0,
    finished_at_ms: 253_000,
    steps: [
      { namespace: "a", status: "succeeded", started_at_ms: 0, duration_ms: 500, exports: {} },
      {
        namespace: "b",
        status: "succeeded",
        started_at_ms: 252_500,
        duration_ms: 500,
        exports: {},
      },
    ],
  });

  it("folds a long pause to a gate, so that steps stay visible", () => {
    const timeline = timelineOf(paused, [], 300_000);
    const gate = at(timeline, "a").stretches.find(({ kind }) => kind === "paused");
    expect(gate?.width).toBeGreaterThan(5);
    expect(gate?.width).toBeLessThan(20);
    expect(at(timeline, "b").stretches[0]?.width).toBeGreaterThan(30);
    expect(timeline.foldedMs).toBe(252_000);
  });

  it("calls a gap a wait where no attempt ended with a pause", () => {
    const kinds = (attempt: number) =>
      timelineOf({ ...paused, attempt }, [], 300_000).rows.flatMap(({ stretches }) =>
        stretches.map(({ kind }) => kind),
      );
    expect(kinds(1)).toEqual(["queued", "done", "idle", "done"]);
    expect(kinds(2)).toEqual(["queued", "done", "paused", "done"]);
  });

  it("shows it as long as it was where it is not folded", () => {
    const timeline = timelineOf(paused, [], 300_000, false);
    expect(at(timeline, "b").stretches[0]?.width).toBeLessThan(1);
  });

  it("has round ticks, and the whole at its end", () => {
    const ticks = (ms: number) => ticksOf(ms, (at) => (at * 100) / ms, ms).map(({ at }) => at);
    expect(ticks(2_500)).toEqual([0, 1_000, 2_000, 2_500]);
    // One that is near the end would stand in the way of the whole.
    expect(ticks(2_300)).toEqual([0, 1_000, 2_300]);
    expect(ticksOf(1, () => 0, 1).at(-1)?.at).toBe(1);
  });
});

describe("stretches in lists", () => {
  const base = { acceptedAt: 0, startedAt: 100, finishedAt: 1_000, planned: 3 };
  it("end in a stop where the run failed, with what was not reached", () => {
    const kinds = stretchesOf(
      {
        ...base,
        status: "failed",
        steps: [
          { status: "succeeded", durationMs: 400 },
          { status: "failed", durationMs: undefined },
        ],
      },
      2_000,
    ).map(({ kind }) => kind);
    expect(kinds).toEqual(["queued", "done", "failed", "dry"]);
  });
  it("are one queue while nothing began", () => {
    const waiting = {
      ...base,
      startedAt: undefined,
      finishedAt: undefined,
      status: "queued" as const,
      steps: [],
    };
    expect(stretchesOf(waiting, 500).map(({ kind }) => kind)).toEqual(["queued"]);
  });
});
