import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { danglingOf, namesReadBy, referenceReader, renamed } from "./references";

const read = await referenceReader();

const step = (namespace: string, code: string, more: Partial<StepDraft> = {}): StepDraft => ({
  key: `key-${namespace}`,
  namespace,
  savedAs: namespace,
  runs: { kind: "code", code },
  props: {},
  disabled: false,
  ...more,
});

test("references are those to the steps, and not what looks like them", () => {
  const names = (code: string, props = {}) => namesReadBy(read, { ...step("x", code), props });
  expect(
    names(
      `export default defineComponent({ async run({ steps, $ }) {
        // steps.comment
        const text = "steps.text" + \`\${steps.template.a}\`;
        return [steps.one.a, steps?.two, steps["three"], other.steps.four, steps[name]];
      } });`,
    ),
  ).toEqual(["template", "one", "two", "three"]);
  expect(names("const steps = list(); steps.length;")).toEqual([]);
  expect(names("", { a: ["x {{steps.a.b}} y", { c: "{{ steps['b'] }}" }], d: "steps.d" })).toEqual([
    "a",
    "b",
  ]);
});

test("a step that reads what is not there before it is found", () => {
  const steps = [
    step("a", "steps.b; steps.trigger.event; steps.gone"),
    step("off", "steps.nothing", { disabled: true }),
    step("b", "steps.a; steps.off; steps.b"),
  ];
  expect(danglingOf(read, { steps })).toEqual([
    { step: "a", reads: "b", why: "later" },
    { step: "a", reads: "gone", why: "missing" },
    { step: "b", reads: "off", why: "off" },
    { step: "b", reads: "b", why: "later" },
  ]);
});

test("a step that is renamed is read by its new name", () => {
  const other = step("other", "return steps.load.x;");
  const steps = [
    step("load", "return 1;"),
    step("use", 'return steps.load.a + steps["load"].b + "steps.load";', {
      props: { text: "{{steps.load.c}} and steps.load", list: [{ n: "{{steps.load}}" }], n: 1 },
    }),
    step("loads", "return steps.loads;"),
  ];
  const draft = renamed(read, { triggers: [], steps: [...steps, other] }, "key-load", "fetch");
  expect(draft.steps[0]?.namespace).toBe("fetch");
  expect(draft.steps[1]).toMatchObject({
    runs: { code: 'return steps.fetch.a + steps["fetch"].b + "steps.load";' },
    props: { text: "{{steps.fetch.c}} and steps.load", list: [{ n: "{{steps.fetch}}" }], n: 1 },
  });
  expect(draft.steps[2]).toBe(steps[2]);
});

test("a step that is renamed is read by its new name in the other files of a step too", () => {
  const others = {
    "lib.mjs": "export const total = (steps) => steps.load.total;",
    "data.json": '{"steps.load": 1}',
  };
  const runs = { kind: "code", code: "run();", files: { entry: "use.mjs", others } } as const;
  const steps = [step("load", "return 1;"), step("use", "", { runs })];
  const draft = renamed(read, { triggers: [], steps }, "key-load", "fetch");
  expect(draft.steps[1]?.runs).toEqual({
    ...runs,
    files: {
      entry: "use.mjs",
      others: { ...others, "lib.mjs": "export const total = (steps) => steps.fetch.total;" },
    },
  });
  const [, use] = steps;
  expect(use === undefined ? [] : danglingOf(read, { steps: [use] })).toEqual([
    { step: "use", reads: "load", why: "missing" },
  ]);
});

test("the file of a step that is renamed follows where it has the step's name", () => {
  const entryOf = (entry: string, others: Record<string, string> = { "lib.mjs": "" }) => {
    const runs = { kind: "code", code: "", files: { entry, others } } as const;
    const steps = [step("load", "", { runs })];
    const [first] = renamed(read, { triggers: [], steps }, "key-load", "fetch").steps;
    return first?.runs.kind === "code" ? first.runs.files?.entry : undefined;
  };
  expect(entryOf("load.mjs")).toBe("fetch.mjs");
  expect(entryOf("steps/load.ts", {})).toBe("steps/fetch.ts");
  expect(entryOf("steps/main.ts")).toBe("steps/main.ts");
  expect(entryOf("load/index.ts")).toBe("load/index.ts");
  expect(entryOf("load.mjs", { "fetch.mjs": "" })).toBe("load.mjs");
  expect(entryOf("load.mjs", { "lib.mjs": 'import "./load.mjs";' })).toBe("load.mjs");
});

test("a step that is renamed is read by its new name where it is taken apart", () => {
  const follows = (code: string) => {
    const steps = [step("load", ""), step("use", code)];
    const { steps: after } = renamed(read, { triggers: [], steps }, "key-load", "fetched");
    const runs = after[1]?.runs;
    return runs?.kind === "code" ? runs.code : undefined;
  };
  const cases = [
    ["const { load } = steps;", "const { fetched: load } = steps;"],
    ["let { load = 1, ...rest } = (steps);", "let { fetched: load = 1, ...rest } = (steps);"],
    ["const { load: again } = steps;", "const { fetched: again } = steps;"],
    ['const { "load": again } = steps;', 'const { "fetched": again } = steps;'],
    ["const { load }: any = steps;", "const { fetched: load }: any = steps;"],
    ["({ load } = steps);", "({ fetched: load } = steps);"],
    ["steps[`load`].x;", "steps[`fetched`].x;"],
    ["(steps).load; (steps as any).load;", "(steps).fetched; (steps as any).fetched;"],
    ["f({ run({ steps: { load } }) {} })", "f({ run({ steps: { fetched: load } }) {} })"],
    [
      "export default ({ steps: { load: { a } } }) => a;",
      "export default ({ steps: { fetched: { a } } }) => a;",
    ],
    ["const { load } = other;", "const { load } = other;"],
    ["list.map(({ steps: { load } }) => load);", "list.map(({ steps: { load } }) => load);"],
    [`steps[\`\${load}\`];`, `steps[\`\${load}\`];`],
  ] as const;
  for (const [before, after] of cases) expect(follows(before)).toBe(after);
});

test("a name that is taken out of the steps is a reference to one", () => {
  const steps = [step("a", "const { gone, trigger } = steps;")];
  expect(danglingOf(read, { steps })).toEqual([{ step: "a", reads: "gone", why: "missing" }]);
});
