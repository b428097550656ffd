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
  const cards = document.createElement("ol");
  cards.className = "cards";
  for (const id of ["t", "a"]) {
    const card = cards.appendChild(document.createElement("li"));
    if (id !== "t") card.setAttribute("data-step", id);
    card.appendChild(document.createElement("button")).id = id;
  }
  const other = document.createElement("button");
  other.id = "other";
  document.body.replaceChildren(cards, other);
  const [a, b] = [step("a"), step("b")];
  const at = (id: string) => {
    document.getElementById(id)?.focus();
    return focusedStep([a, b], b);
  };
  expect(at("a")).toBe(a);
  expect(at("t")).toBeUndefined();
  expect(at("other")).toBe(b);
});
