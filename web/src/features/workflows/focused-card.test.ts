// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { focusedStep } from "./focused-card";
import type { StepDraft } from "./model";

const step = (key: string): StepDraft => ({
  key,
  namespace: key,
  savedAs: key,
  runs: { kind: "code", code: "" },
  props: {},
  disabled: false,
});

test("keys act on the step of the card that has the focus, and on the open one elsewhere", () => {
  document.body.innerHTML = `<ol class="cards"><li><button id="t"></button></li>
    <li data-step="a"><button id="a"></button></li></ol><button id="other"></button>`;
  const [a, b] = [step("a"), step("b")];
  const at = (id: string) => {
    document.getElementById(id)?.focus();
    return focusedStep([a, b], b);
  };
  expect(at("a")).toBe(a);
  expect(at("t")).toBeUndefined();
  expect(at("other")).toBe(b);
});
