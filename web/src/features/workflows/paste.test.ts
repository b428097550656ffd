import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { pastedSteps, stepYaml, withTriggers } from "./paste";

test("a step that is copied is what is pasted, without its secrets", async () => {
  const step: StepDraft = {
    key: "k",
    namespace: "check",
    savedAs: "check",
    runs: { kind: "code", code: "  odd();\n\nexport default 1; // a: b\n" },
    props: { n: 1, text: "{{steps.a}}", token: "hunter2" },
    secrets: ["token"],
    disabled: true,
  };
  const yaml = stepYaml(step);
  expect(yaml).not.toContain("hunter2");
  const props = { n: 1, text: "{{steps.a}}" };
  expect(await pastedSteps(yaml)).toEqual({
    steps: [{ wish: "check", runs: step.runs, props, secrets: [], disabled: true }],
    notes: [],
  });
});

test("a whole workflow gives its steps; other text gives none", async () => {
  const found = await pastedSteps(
    "name: x\nsteps:\n  - namespace: a\n    component_key: http-send\n    props: { t: { $env: T }, u: 1 }\n",
  );
  expect(found).toMatchObject({
    steps: [{ wish: "a", runs: { kind: "action", component: "http-send" }, props: { u: 1 } }],
    notes: [
      "Ignored in the workflow: name.",
      "Enter the values that a had from the environment: t.",
    ],
  });
  for (const text of ["hello: world", "steps: [1]", "code: [", "hello"])
    expect(await pastedSteps(text)).toMatchObject({ problem: expect.any(String) });
});

test("code is a step; a step whose code is in a file says what to paste", async () => {
  const code = 'import x from "x";\nexport default defineComponent({ async run() {} });\n';
  expect(await pastedSteps(code)).toMatchObject({
    steps: [{ wish: "code", runs: { kind: "code", code } }],
  });
  expect(await pastedSteps("steps:\n  - namespace: a\n    code_file: steps/a.mjs\n")).toMatchObject(
    { problem: expect.stringContaining("steps/a.mjs") },
  );
});

test("the files of a step are copied with it", async () => {
  const files = { entry: "a.mjs", others: { "lib/h.mjs": "export const h = 1;\n" } };
  const runs = { kind: "code", code: "export default 1;\n", files } as const;
  const yaml = stepYaml({
    key: "k",
    namespace: "a",
    savedAs: "a",
    runs,
    props: {},
    disabled: false,
  });
  expect(await pastedSteps(yaml)).toMatchObject({ steps: [{ runs }], notes: [] });
});

test("triggers of a workflow are pasted, and what is not taken is named", async () => {
  const found = await pastedSteps(`name: Orders
settings: { timeout_ms: 1000 }
triggers:
  - type: timer
    props: { cron: "0 9 * * *" }
  - { type: http, props: { auth: { type: bearer, token: { $env: T } } } }
  - { type: source, source: orders }
steps:
  - { namespace: q, code: "export default 1;", retries: 3, timeout: 10 }
`);
  const timer = {
    kind: "timer",
    id: undefined,
    seconds: undefined,
    cron: "0 9 * * *",
    zone: "UTC",
  };
  const http = { kind: "http", id: undefined, auth: { type: "bearer" } } as const;
  expect(found).toMatchObject({
    triggers: [timer, http],
    notes: [
      "Ignored in the workflow: name, settings.",
      "Enter the secret of the HTTP trigger.",
      "Add the trigger on the source orders.",
      "Ignored in q: retries, timeout.",
    ],
  });
  const has = { ...http, id: "hi_1" };
  expect(withTriggers([has], [http, { ...http, auth: { type: "none" } }])).toEqual([
    has,
    { ...http, auth: { type: "none" } },
  ]);
});

test("YAML that is broken, or several documents, is no step", async () => {
  const step = 'namespace: q\ncode: "export default 1;"\n';
  for (const [text, says] of [
    ["namespace: q\ncode: |\n  export default\n bad: [", "not YAML: line 4"],
    ["namespace: q\n\tcode: export default 1", "not YAML: line 2"],
    [`${step}---\n${step}`, "2 documents"],
  ] as const)
    expect(await pastedSteps(text)).toEqual({ problem: expect.stringContaining(says) });
  const code =
    "export default { props: { steps: { type: 'string' } }, run() { return this.steps } }";
  expect(await pastedSteps(code)).toMatchObject({ steps: [{ runs: { code } }] });
});
