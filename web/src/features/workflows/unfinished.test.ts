import { expect, test } from "vitest";
import type { Draft } from "./model";
import { unfinished } from "./unfinished";

const draft = (code: string, props = {}): Draft => ({
  triggers: [],
  steps: [
    {
      key: "k",
      namespace: "one",
      savedAs: undefined,
      runs: { kind: "code", code },
      props,
      disabled: false,
    },
  ],
});

test("what is plainly not whole yet says so", async () => {
  const whole = "export default defineComponent({\n  run({ steps }) { return steps; },\n});\n";
  expect(await unfinished(draft(whole))).toBeUndefined();
  expect(await unfinished(draft("const a: number = 1 as const satisfies number;"))).toBeUndefined();
  expect(await unfinished(draft(whole.replace("steps; }", "steps.")))).toBe(
    "line 2 of one seems unfinished",
  );
  expect(await unfinished(draft(whole, { to: ["a {{steps.x}}"] }))).toBeUndefined();
  expect(await unfinished(draft(whole, { to: ["a {{steps."] }))).toBe(
    "an expression of one is not closed",
  );
  expect(await unfinished(draft(" \n"))).toBe("one has no code yet");
  const trigger = { kind: "source", id: "", eventName: "" } as const;
  expect(await unfinished({ triggers: [trigger], steps: [] })).toBe("a trigger needs its source");
  const timer = { kind: "timer", id: undefined, seconds: undefined, zone: "UTC" } as const;
  for (const cron of [undefined, " "])
    expect(await unfinished({ triggers: [{ ...timer, cron }], steps: [] })).toBe(
      "a schedule needs its times",
    );
  const every = { ...timer, seconds: 60, cron: undefined };
  expect(await unfinished({ triggers: [every], steps: [] })).toBeUndefined();
});

test("a field that holds no valid value keeps a draft from being saved by itself", async () => {
  const { triggers, steps } = draft("run();");
  const invalid = { body: { label: "Body", why: "It ends too early.", draft: { kind: "text" } } };
  const typed = { triggers, steps: steps.map((step) => ({ ...step, invalid })) };
  expect(await unfinished(typed)).toBe("Body of one is not valid");
});
