import { expect, test } from "vitest";
import { typeOf } from "./type-of";

const flat = (value: unknown) => typeOf(value).replaceAll(/\s+/g, " ");

test("members have their types, with a sample of each value", () => {
  expect(flat({ id: 7, name: "Ada", "a-b": true })).toBe(
    '{ /** 7 */ id: number; /** "Ada" */ name: string; /** true */ "a-b": boolean; }',
  );
});

test("null, and a list that is empty, say nothing of what may stand there", () => {
  expect(flat({ a: null, b: [] })).toBe("{ a: any; b: Array<any>; }");
});

test("elements of a list have one type; what only some have may be missing", () => {
  expect(flat([{ a: 1 }, { a: "x", b: 2 }])).toBe(
    "Array<{ /** 1 */ a: number | string; /** 2 */ b?: number; }>",
  );
});

test("a sample does not end the comment that it stands in", () => {
  expect(flat({ a: "*/ evil" })).toBe('{ /** "* / evil" */ a: string; }');
});

test("large data are cut, and the rest is any", () => {
  const wide = Object.fromEntries(Array.from({ length: 300 }, (_, at) => [`n${at}`, at]));
  expect(typeOf(wide)).toContain("[name: string]: any;");
  const many = Array.from({ length: 50 }, () => wide);
  expect(typeOf({ many, more: many }).length).toBeLessThan(200_000);
});
