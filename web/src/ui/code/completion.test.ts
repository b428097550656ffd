import { expect, it } from "vitest";
import { completionOf, Says } from "./completion";

const known = {
  steps: {
    trigger: { event: { body: { name: "Ann", lines: [{ sku: "OS-220" }], "content-type": "x" } } },
  },
  $: { export: new Says("gives a value") },
};
const labels = (before: string) => completionOf(known, before)?.options.map(({ label }) => label);

it("completes members by what is at hand, with a sample of each", () => {
  expect(labels("const a = steps.trigger.event.body.")).toEqual(["name", "lines", "content-type"]);
  const found = completionOf(known, "x(steps.trigger?.event.body.na");
  expect(found?.from).toBe("x(steps.trigger?.event.body.".length);
  expect(found?.options[0]).toMatchObject({ label: "name", detail: '"Ann"' });
  expect(labels("steps.trigger.event.body.lines[0].")).toEqual(["sku"]);
  expect(completionOf(known, "$.")?.options[0]).toMatchObject({ detail: "gives a value" });
  expect(labels("return ste")).toEqual(["steps"]);
});

it("says nothing where nothing is known", () => {
  expect(labels("other.")).toBeUndefined();
  expect(labels("my.steps.")).toBeUndefined();
  expect(labels("$.export.")).toBeUndefined();
  expect(labels("steps.trigger.event.body.name.")).toBeUndefined();
  expect(labels("")).toBeUndefined();
});
