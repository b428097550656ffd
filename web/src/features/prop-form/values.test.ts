import { describe, expect, it } from "vitest";
import { propsOf } from "~/api/props";
import { draftOf, isInOtherField, read, readAll } from "./values";

const prop = (more: Record<string, unknown>) => {
  const [only] = propsOf([{ name: "p", ...more }]);
  if (only === undefined) throw new Error("no prop");
  return only;
};
const text = (text: string) => ({ kind: "text", text }) as const;

describe("integers", () => {
  const rows = prop({ type: "integer", min: 1, max: 1_000 });
  it.each([
    ["12", { value: 12 }],
    ["1,000", { value: 1_000 }],
    ["5,000", { problem: "5,000 is above the maximum. Allowed: 1 to 1,000." }],
    ["0", { problem: "0 is below the minimum. Allowed: 1 to 1,000." }],
    ["1.5", { problem: "“1.5” is not a whole number." }],
    ["", { value: undefined }],
  ])("%j", (typed, result) => {
    expect(read(rows, text(typed))).toEqual(result);
  });
});

describe("JSON", () => {
  const types = prop({ type: "object" });
  it("names line, column and the word that lacks quotes", () => {
    const typed = '{\n  "received_on": "date",\n  "quantity": integer,\n  "refund": 1\n}';
    expect(read(types, text(typed))).toEqual({
      problem: 'Line 3, column 15: text must be in quotes. Did you mean "integer"?',
    });
  });
  it("takes any value for `any`, and objects alone for `object`", () => {
    expect(read(prop({ type: "any" }), text("[1]"))).toEqual({ value: [1] });
    expect(read(types, text("[1]"))).toHaveProperty("problem");
    expect(read(types, text("{"))).toHaveProperty("problem");
  });
});

describe("lists", () => {
  it("are read item by item, and name the item that is wrong", () => {
    const list = prop({ type: "integer[]" });
    expect(read(list, { kind: "items", items: ["1", "", "3"] })).toEqual({ value: [1, 3] });
    expect(read(list, { kind: "items", items: ["1", "x"] })).toEqual({
      problem: "Item 2: “x” is not a whole number.",
    });
  });
});

it("counts the bytes that a value may have", () => {
  const note = prop({ type: "string" });
  expect(read(note, text("ö".repeat(32_768)))).toHaveProperty("value");
  expect(read(note, text("ö".repeat(32_769)))).toHaveProperty("problem");
});

it("reads all, names what is missing, and leaves alone what the server makes", () => {
  const props = propsOf([
    { name: "http", type: "$.interface.http" },
    { name: "url", type: "string" },
    { name: "note", type: "string", optional: true },
    { name: "a.b[0]", type: "integer" },
    { name: "alert", type: "alert", content: "x" },
  ]);
  expect(readAll(props, { "a.b[0]": text("x") })).toEqual({
    values: {},
    problems: { "a.b[0]": "“x” is not a whole number." },
    missing: ["url"],
  });
});

it("shows stored values as they are typed", () => {
  expect(draftOf(prop({ type: "string" }), "a")).toEqual(text("a"));
  expect(draftOf(prop({ type: "object" }), { a: 1 })).toEqual(text('{\n  "a": 1\n}'));
  expect(draftOf(prop({ type: "string[]" }), ["a"])).toEqual({ kind: "items", items: ["a"] });
  expect(draftOf(prop({ type: "string", options: ["a"] }), "a")).toMatchObject({ kind: "value" });
  expect(draftOf(prop({ type: "string" }), null)).toBeUndefined();
});

it("takes expressions in the place of values of any type, where a step evaluates them", () => {
  const whole = prop({ type: "integer" });
  const draft = text("{{steps.trigger.event.n}}");
  expect(read(whole, draft)).toHaveProperty("problem");
  expect(read(whole, draft, true)).toEqual({ value: "{{steps.trigger.event.n}}" });
  expect(draftOf(prop({ type: "boolean" }), "{{true}}", true)).toEqual(text("{{true}}"));
  expect(readAll([whole], { p: draft }, true)).toEqual({
    values: { p: "{{steps.trigger.event.n}}" },
    problems: {},
    missing: [],
  });
});

describe("expressions within JSON", () => {
  const value = { user: "{{steps.a.user}}", n: 1, deep: ["{{steps.b}}"] };
  it.each(["object", "any", "http_request"])("stay where they are in %s", (type) => {
    const of = prop({ type });
    const shown = draftOf(of, value, true);
    expect(read(of, shown, true)).toEqual({ value });
    expect(read(of, text(JSON.stringify(value)), true)).toEqual({ value });
    expect(read(of, text("{{steps.a}}"), true)).toEqual({ value: "{{steps.a}}" });
    expect(read(of, text('{"id": "{{steps.trigger'), true)).toHaveProperty("problem");
    expect(read(of, text('{"id": {{steps.a}}}'), true)).toEqual({
      problem: expect.stringContaining("in quotes"),
    });
  });
  it("tells text from JSON where any value is allowed", () => {
    const any = prop({ type: "any" });
    expect(read(any, text("Hello {{steps.a}}"), true)).toEqual({ value: "Hello {{steps.a}}" });
    expect(read(any, text('"{{steps.a}}"'), true)).toEqual({ value: "{{steps.a}}" });
    const looksLikeJson = '{"a": "{{steps.a}}"}';
    const shown = draftOf(any, looksLikeJson, true);
    expect(shown).toEqual(text(JSON.stringify(looksLikeJson)));
    expect(read(any, text(JSON.stringify(looksLikeJson)), true)).toEqual({ value: looksLikeJson });
  });
});

it("leaves values alone that nobody edits", () => {
  for (const [type, value] of [
    ["string", ""],
    ["string", 5],
    ["integer", "5"],
    ["object", "of {{steps.a}}"],
    ["integer[]", ["{{steps.a}}", "7", 7]],
    ["string[]", ["a", { b: 1 }]],
  ] as const) {
    const of = prop({ type });
    expect(read(of, draftOf(of, value, true), true)).toEqual({ value });
  }
  const whole = prop({ type: "integer" });
  expect(read(whole, draftOf(whole, "x", true), true)).toHaveProperty("problem");
});

it("takes expressions as items of any list", () => {
  const list = prop({ type: "integer[]" });
  expect(read(list, { kind: "items", items: ["1", "{{steps.a}}"] }, true)).toEqual({
    value: [1, "{{steps.a}}"],
  });
  expect(read(list, { kind: "items", items: ["1", "{{steps.a}}"] })).toHaveProperty("problem");
  expect(read(list, text("steps.a"), true)).toHaveProperty("problem");
});

it("shows the same field whatever is typed, so that the focus stays in it", () => {
  for (const type of ["string", "integer", "object", "any", "http_request", "sql"]) {
    for (const typed of ["", "{", "{{steps"])
      expect(isInOtherField(prop({ type }), text(typed))).toBe(false);
  }
  for (const type of ["boolean", "integer[]", "$.interface.timer"]) {
    for (const typed of ["", "{", "{{steps"])
      expect(isInOtherField(prop({ type }), text(typed))).toBe(true);
    expect(isInOtherField(prop({ type }), undefined)).toBe(false);
  }
  expect(isInOtherField(prop({ type: "string", secret: true }), text("{{steps"))).toBe(false);
});
