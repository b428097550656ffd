import { expect, test } from "vitest";
import { type KinRun, kinOf } from "./kin-of";

const run = (id: string, owner: string, trigger: string, at: number): KinRun => ({
  id,
  owner,
  name: owner,
  trigger,
  replayOf: undefined,
  at,
});

const trace = [
  run("source", "dc_1", "hi_1", 1),
  run("one", "p_1", "dc_1", 2),
  run("two", "p_2", "dc_1", 2),
  run("errors", "p_9", "p_1", 3),
  run("again", "dc_1", "hi_1", 5),
  run("one again", "p_1", "dc_1", 6),
];

const said = (id: string) => {
  const { cause, caused } = kinOf(id, trace);
  return [cause?.id, caused.map((each) => each.id)];
};

test("a run comes from the newest run of its emitter, and leads to those that its own events started", () => {
  expect(said("source")).toEqual([undefined, ["one", "two"]]);
  expect(said("one")).toEqual(["source", ["errors"]]);
  expect(said("errors")).toEqual(["one", []]);
  expect(said("again")).toEqual([undefined, ["one again"]]);
  expect(said("not there")).toEqual([undefined, []]);
});
