import { expect, test } from "vitest";
import { runOf } from "~/api/runs";
import type { Json, JsonObject, Run } from "~/api/schema";
import { comparedSteps } from "./compare";
import { pairOf } from "./twin";

const run = (
  id: string,
  deployment: string,
  body: Json,
  exports: JsonObject,
  status: Run["status"] = "succeeded",
) =>
  runOf({
    id,
    workflow_id: "p_1",
    source_id: null,
    deployment_id: deployment,
    status,
    kind: "live",
    attempt: 1,
    trigger_id: "",
    event: { method: "POST", path: "/", body, headers: { "x-at": id } },
    context: null,
    steps: [{ namespace: "one", status, exports }],
    return_value: null,
    exit_reason: null,
    deduped: 0,
    paused: null,
    duration_ms: 1,
    error: null,
    created_at: 1,
    created_at_ms: 1,
    started_at_ms: 1,
    finished_at_ms: 2,
  } satisfies Run);

test("the same event before and after a save is found, and what its steps gave is compared", () => {
  const runs = [
    run("3", "d_2", { n: 1 }, { $return_value: 2 }),
    run("2", "d_2", { n: 9 }, {}),
    run("1", "d_1", { n: 1 }, { $return_value: 1 }),
  ];
  const pair = pairOf(runs, "d_1", "d_2");
  expect([pair?.before.id, pair?.after.id]).toEqual(["1", "3"]);
  expect(pair?.changed.map(({ name, verdict }) => [name, verdict])).toEqual([["one", "differs"]]);
  expect(pair?.changed[0]?.differences).toEqual([
    { kind: "changed", path: "steps.one.$return_value", before: 1, after: 2 },
  ]);
  expect(pairOf(runs.slice(1), "d_1", "d_2")).toBeUndefined();
});

test("a step that throws now, one that is mended and one that is gone say so", () => {
  const good = run("1", "d_1", {}, { a: 1 });
  const bad = run("2", "d_2", {}, {}, "failed");
  const none = { ...bad, steps: [] };
  const verdict = (a: typeof good, b: typeof good) => comparedSteps(a, b).map((s) => s.verdict);
  expect(verdict(good, bad)).toEqual(["failed"]);
  expect(verdict(bad, good)).toEqual(["mended"]);
  expect(verdict(good, none)).toEqual(["only-first"]);
  expect(verdict(none, good)).toEqual(["only-second"]);
  expect(verdict(good, good)).toEqual(["same"]);
});
