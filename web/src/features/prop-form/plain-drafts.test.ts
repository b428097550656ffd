import { expect, test } from "vitest";
import { propsOf } from "~/api/props";
import { followed, plainDraft, typedSince } from "./plain-drafts";

const props = propsOf([
  { name: "tok", type: "string", secret: true, optional: true, default: "dflt-secret" },
  { name: "n", type: "integer", optional: true, default: 5 },
  { name: "blank", type: "string", label: " \t", default: "x" },
]);

const plain = (stored: Record<string, never> | { n: number }, sealed: string[]) =>
  props.map((prop) => plainDraft(prop, { stored, sealed, expressions: false }));

test("a default fills in a field without a value, but never that of a secret that is set", () => {
  const n = { kind: "text", text: "5" };
  const blank = { kind: "text", text: "x" };
  expect(plain({}, [])).toEqual([{ kind: "text", text: "dflt-secret" }, n, blank]);
  expect(plain({}, ["tok"])).toEqual([undefined, n, blank]);
  expect(plain({ n: 7 }, ["tok"])).toEqual([undefined, { kind: "text", text: "7" }, blank]);
});

test("a field whose label is blank is named as the prop is", () => {
  expect(props[2]?.label).toBe("blank");
});

test("a default that nobody typed follows the new definition, what was typed or cleared stays", () => {
  const text = (text: string) => ({ kind: "text" as const, text });
  const before = { shape: text("round"), cleared: text("x"), typed: text("x") };
  const after = { shape: text("5"), cleared: text("y"), typed: text("y"), added: text("z") };
  expect(followed({ ...before, cleared: undefined, typed: text("mine") }, before, after)).toEqual({
    shape: text("5"),
    cleared: undefined,
    typed: text("mine"),
    added: text("z"),
  });
});

test("what was typed or cleared while a save was under way is not saved", () => {
  const text = (text: string) => ({ kind: "text" as const, text });
  const sent = { region: text("north"), note: text("a") };
  expect(typedSince({ region: text("north"), note: text("ab") }, sent)).toEqual({
    note: text("ab"),
  });
  expect(typedSince({ ...sent, note: undefined }, sent)).toEqual({ note: undefined });
  expect(typedSince(sent, sent)).toEqual({});
});
