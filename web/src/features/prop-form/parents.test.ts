import { expect, test } from "vitest";
import { propsOf } from "~/api/props";
import { parentsOf, waitsFor } from "./parents";

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

test("options wait for what they depend on and for an account, as long as that has to be filled in", () => {
  const props = propsOf([
    { name: "sheets", type: "app", app: "sheets" },
    { name: "book", type: "string", remoteOptions: true },
    { name: "view", type: "string", optional: true },
    { name: "mode", type: "string", default: "all" },
    { name: "tab", type: "string", remoteOptions: true, dependsOn: ["book", "view", "mode"] },
  ]);
  const waits = (name: string, ...given: string[]) => {
    const prop = props.find((each) => each.name === name);
    return prop && waitsFor(props, prop, (each) => given.includes(each))?.name;
  };
  expect(waits("book")).toBe("sheets");
  expect(waits("tab")).toBe("book");
  expect(waits("tab", "book")).toBe("sheets");
  expect(waits("tab", "book", "sheets")).toBeUndefined();
});
