import { expect, test } from "vitest";
import type { StepDraft } from "./model";
import { curlStep, pastedSteps, shellWords, stepYaml } from "./paste";

test("words are those of a shell", () => {
  expect(shellWords(`curl 'a b' "c\\"d" e\\ f \\\n -H 'x: y'`)).toEqual([
    "curl",
    "a b",
    'c"d',
    "e f",
    "-H",
    "x: y",
  ]);
});

test("a curl line is a step that makes the request, its credentials a secret", () => {
  const step = curlStep(
    `curl -sS -X PUT https://api.example.com/orders/7 -H 'Content-Type: application/json' -H "Authorization: Bearer s3cret" --data-raw '{"paid": true}'`,
  );
  expect(step?.props).toEqual({ authorization: "Bearer s3cret" });
  expect(step?.secrets).toEqual(["authorization"]);
  const code = step?.runs.kind === "code" ? step.runs.code : "";
  expect(code).not.toContain("s3cret");
  for (const part of [
    'method: "PUT"',
    'url: "https://api.example.com/orders/7"',
    '"paid": true',
    "Authorization: this.authorization",
    "secret: true",
  ]) {
    expect(code).toContain(part);
  }
  expect(curlStep("curl --help")).toBeUndefined();
  const form = curlStep("curl example.com/x -d a=1 -d b=2");
  expect(form?.runs.kind === "code" && form.runs.code).toContain('data: "a=1&b=2"');
});

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
  expect(await pastedSteps(yaml)).toEqual([
    {
      wish: "check",
      runs: step.runs,
      props: { n: 1, text: "{{steps.a}}" },
      secrets: [],
      disabled: true,
    },
  ]);
});

test("a whole workflow gives its steps; other text gives none", async () => {
  const found = await pastedSteps(
    "name: x\nsteps:\n  - namespace: a\n    component_key: http-send\n    props: { t: { $env: T }, u: 1 }\n",
  );
  expect(found).toMatchObject([
    { wish: "a", runs: { kind: "action", component: "http-send" }, props: { u: 1 } },
  ]);
  expect(await pastedSteps("hello: world")).toBeUndefined();
  expect(await pastedSteps("steps: [1]")).toBeUndefined();
  expect(await pastedSteps("code: [")).toBeUndefined();
});
