import { expect, it } from "vitest";
import { dotBefore } from "./completion";
import { completionAt } from "./expression";

const known = {
  steps: { trigger: { event: { body: { name: "Ann", nr: 3, "content-type": "x" } } } },
  event: { body: { name: "Ann" } },
};
const at = (text: string) => completionAt(known, text, text.length);
const labels = (text: string) => at(text)?.options.map(({ label }) => label);

it("completes names and members within an expression", () => {
  expect(labels("{{")).toEqual(["steps", "event"]);
  expect(labels("Hello {{ ev")).toEqual(["event"]);
  expect(labels("{{steps.trigger.event.body.n")).toEqual(["name", "nr"]);
  expect(at("{{event.body.na")).toMatchObject({ from: "{{event.body.".length });
  expect(completionAt(known, "{{event.b}} and more", "{{event.b".length)?.options).toHaveLength(1);
});

it("says nothing outside of one, nor of what is typed whole", () => {
  expect(at("event.body.")).toBeUndefined();
  expect(at("{{event.body}} event.")).toBeUndefined();
  expect(at("{{event.body.name")).toBeUndefined();
  expect(at("")).toBeUndefined();
});

it("a name in brackets takes the place of the dot before it", () => {
  const [, , option] = at("{{steps.trigger.event.body.")?.options ?? [];
  expect(option).toMatchObject({ label: "content-type", bracket: "['content-type']" });
  expect(dotBefore("body.")).toBe(1);
  expect(dotBefore("body?.")).toBe(0);
});
