import { expect, test } from "vitest";
import { propsOf } from "~/api/props";
import { parentsOf } from "./parents";

test("options depend on the props that are named, or else on the nearest choice before", () => {
  const props = propsOf([
    { name: "team", type: "string", options: ["red", "blue"] },
    { name: "note", type: "string" },
    { name: "channel", type: "string", remoteOptions: true },
    { name: "thread", type: "string", remoteOptions: true, dependsOn: ["team", "channel"] },
  ]);
  const names = props.map((prop) => parentsOf(props, prop).map(({ name }) => name));
  expect(names).toEqual([[], [], ["team"], ["team", "channel"]]);
});
