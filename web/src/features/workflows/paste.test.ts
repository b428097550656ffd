import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { pastedSteps, stepYaml } from "./paste";

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
