import { expect, test } from "vitest";
import type { Json, Run } from "~/api/schema";
import { outcomeOf, reachOf, withAccounts } from "./rehearse";

const run = (steps: [string, Json][], failed?: string): Run => ({
  id: "run_1",
  workflow_id: "p_1",
  source_id: null,
  deployment_id: null,
  status: failed === undefined ? "succeeded" : "failed",
  kind: "live",
  attempt: 1,
  trigger_id: "",
  event: {},
  context: null,
  steps: [...steps, ...(failed === undefined ? [] : [[failed, null] as const])].map(
    ([namespace, value]) => ({
      namespace,
      status: namespace === failed ? "failed" : "succeeded",
      exports: { $return_value: value },
    }),
  ),
  return_value: null,
  exit_reason: null,
  deduped: 0,
  paused: null,
  duration_ms: 1,
  error:
    failed === undefined ? null : { code: "Error", message: "no", cellId: "", ts: "", stack: "" },
  created_at: 1,
  created_at_ms: 1,
  started_at_ms: 1,
  finished_at_ms: 2,
});

test("the outcome of a rehearsal names the first step that is not as it was", () => {
  const was = run([
    ["a", 1],
    ["b", 2],
  ]);
  expect(outcomeOf(was, was)).toEqual({ outcome: "same", step: undefined });
  expect(
    outcomeOf(
      was,
      run([
        ["a", 1],
        ["b", 3],
      ]),
    ),
  ).toEqual({ outcome: "differs", step: "b" });
  expect(
    outcomeOf(
      was,
      run([
        ["a", 1],
        ["b", 2],
        ["c", 3],
      ]),
    ),
  ).toEqual({ outcome: "differs", step: "c" });
  expect(outcomeOf(was, run([["a", 1]]))).toEqual({ outcome: "differs", step: "b" });
  expect(outcomeOf(was, run([["a", 1]], "b"))).toEqual({ outcome: "throws", step: "b" });
  expect(outcomeOf(run([["a", 1]], "b"), was)).toEqual({ outcome: "passes", step: "b" });
  expect(outcomeOf(run([], "a"), run([], "a"))).toEqual({ outcome: "throws-too", step: "a" });
});

test("steps with an account are those whose component asks for one", () => {
  const step = (namespace: string, type: string) => ({
    namespace,
    savedComponent: { configurableProps: [{ name: "x", type }] },
  });
  expect([...withAccounts([step("mail", "app"), step("sum", "integer"), null])]).toEqual(["mail"]);
});

test("a step that calls somebody and has nothing recorded is not run, nor what is behind it", () => {
  const names = ["a", "pay", "b", "mail"];
  const outward = new Set(["pay", "mail"]);
  const reach = (...recorded: string[]) => reachOf(names, outward, new Set(recorded));
  expect(reach("pay", "mail")).toEqual({ stop: undefined, upTo: undefined });
  expect(reach("pay")).toEqual({ stop: "mail", upTo: "b" });
  expect(reach("mail")).toEqual({ stop: "pay", upTo: "a" });
  expect(reachOf(["pay"], outward, new Set())).toEqual({ stop: "pay", upTo: undefined });
});

test("a rehearsal that stopped says before which step, unless it differs already", () => {
  const was = run([["a", 1]], "pay");
  const stopped = (value: number) => outcomeOf(was, run([["a", value]]), "pay");
  expect(stopped(1)).toEqual({ outcome: "stops", step: "pay" });
  expect(stopped(2)).toEqual({ outcome: "differs", step: "a" });
  expect(outcomeOf(was, run([], "a"), "pay")).toEqual({ outcome: "throws-too", step: "a" });
});

test("a step that has another name since gives what it gave", () => {
  const [was, now] = [run([["a", 1]]), run([["b", 1]])];
  expect(outcomeOf(was, now).outcome).toBe("differs");
  const renames = new Map([["b", "a"]]);
  expect(outcomeOf(was, now, undefined, renames).outcome).toBe("same");
  expect(outcomeOf(was, run([["b", 2]]), undefined, renames)).toEqual({
    outcome: "differs",
    step: "b",
  });
});
