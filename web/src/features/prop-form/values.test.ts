import { describe, expect, it } from "vitest";
import { propsOf } from "~/api/props";
import { draftOf, read, readAll } from "./values";

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
    ["5,000", { problem: "5,000 is over the maximum. Allowed: 1 to 1,000." }],
    ["0", { problem: "0 is under the minimum. Allowed: 1 to 1,000." }],
    ["1.5", { problem: "“1.5” is no whole number." }],
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
      problem: "Item 2: “x” is no whole number.",
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
    problems: { "a.b[0]": "“x” is no whole number." },
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
