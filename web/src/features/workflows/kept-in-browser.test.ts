// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { keptUnder } from "~/shell/kept";
import { keepDraft } from "./kept-in-browser";
import type { Draft, StepDraft } from "./model";

const step: StepDraft = {
  key: "k",
  namespace: "one",
  savedAs: "one",
  runs: { kind: "code", code: "run();" },
  props: { url: "https://mill.example" },
  disabled: false,
};
const saved: Draft = { triggers: [], steps: [step] };

test("a secret is never said to be kept, as it is not", () => {
  const keep = (changed: Partial<StepDraft>) =>
    keepDraft("p_1", {
      over: "",
      draft: { triggers: [], steps: [{ ...step, ...changed }] },
      saved,
      left: false,
    });
  const secret = { props: { ...step.props, token: "s3cret" }, secrets: ["token"], form: undefined };
  expect(keep(secret)).toBeUndefined();
  expect(keptUnder("workflow.p_1.")).toEqual([]);
  expect(keep({ ...secret, namespace: "two" })).toBeGreaterThan(0);
  expect(keptUnder("workflow.p_1.")).toHaveLength(1);
  expect(JSON.stringify({ ...localStorage })).not.toContain("s3cret");
  expect(keep(secret)).toBeUndefined();
  expect(keptUnder("workflow.p_1.")).toEqual([]);
});
