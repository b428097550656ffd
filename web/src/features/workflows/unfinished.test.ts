import typescript from "typescript";
import { expect, test } from "vitest";
import { languageService } from "~/ui/code/language/core";
import type { Draft } from "./model";
import { unfinished as unfinishedBy } from "./unfinished";

const service = languageService(typescript, {});
const unfinished = (draft: Draft) =>
  unfinishedBy(draft, async (code) => {
    const line = service.ask(code, { kind: "unreadable" });
    return typeof line === "number" ? line : undefined;
  });

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
      "a schedule needs an interval or a cron expression",
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

test.each([
  'import rates from "data:application/json,%7B%7D" with { type: "json" };',
  "class Sums {\n  total!: number;\n}",
  "let total!: number;",
  'const { default: all } = await import("a", { with: { type: "json" } });',
  "type Point = [x: number, y?: string];",
  "type Pair = [string, number?];",
  'const isText = (a: unknown): a is string => typeof a === "string";',
  "type Make = abstract new () => void;",
  'type Whole = typeof import("node:fs");',
  "const same = async <T,>(x: T): Promise<T> => x;",
  "class A {}\nexport default class extends A {}",
  'import a, * as b from "c";',
  "let x = 0;\ndo x++; while (x < 3) x = 0;",
  "const list = <const>[1, 2];",
  "const \\u0061b = 1;",
])("code that the grammar of the highlighter lacks is whole: %s", async (code) => {
  expect(await unfinished(draft(code))).toBeUndefined();
});

test.each([
  ["let total!: number;\nconst a = [1,", 2],
  ["let total!: number;\nconst a = `b", 2],
  ["let total!: number;\n\nreturn steps.", 3],
  ["let total!: number;\nif (a) {", 2],
])("code that ends too early is not: %s", async (code, line) => {
  expect(await unfinished(draft(code))).toBe(`line ${line} of one seems unfinished`);
});
