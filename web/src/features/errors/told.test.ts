import { expect, test } from "vitest";
import { listenersOf, listenersOfAll } from "./told";

const subscription = (emitter_id: string, listener_id: string, event_name = "$errors") => ({
  id: `${emitter_id} ${listener_id} ${event_name}`,
  emitter_id,
  listener_id,
  event_name,
});

test("errors of a workflow go to listeners of it, of all workflows and of the organization, to each once", () => {
  const all = [
    subscription("o_1", "wh_1"),
    subscription("p_*", "p_9"),
    subscription("p_1", "p_9"),
    subscription("p_1", "wh_2", ""),
    subscription("p_2", "wh_3"),
    subscription("dc_*", "wh_4"),
  ];
  const told = listenersOf(all, { id: "p_1", isWorkflow: true }, "o_1");
  expect(told.map(({ emitter_id, listener_id }) => [emitter_id, listener_id])).toEqual([
    ["p_1", "p_9"],
    ["o_1", "wh_1"],
  ]);
  const ofSource = listenersOf(all, { id: "dc_1", isWorkflow: false }, "o_1");
  expect(ofSource.map(({ listener_id }) => listener_id)).toEqual(["wh_4", "wh_1"]);
});

test("listeners to the errors of all are those of the organization, of all workflows and of all sources, each once", () => {
  const all = [
    subscription("p_1", "wh_1"),
    subscription("p_*", "p_9"),
    subscription("dc_*", "p_9"),
    subscription("o_1", "wh_2"),
    subscription("o_1", "wh_3", ""),
  ];
  expect(listenersOfAll(all, "o_1")).toEqual(["p_9", "wh_2"]);
});
