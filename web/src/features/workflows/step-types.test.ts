import ts from "typescript";
import { expect, test } from "vitest";
import { type Answers, languageService, type Question } from "~/ui/code/language/core";
import { libraries } from "~/ui/code/language/libraries";
import { typeFiles } from "./step-types";

const service = languageService(ts, libraries);
service.setTypes(
  typeFiles({
    event: { body: { id: 7, customer: { name: "Ada" } } },
    results: new Map([
      ["load", { $return_value: { lines: [{ sku: "bell" }] } }],
      ["untested", undefined],
    ]),
  }),
);

const step = (body: string, before = "") => `export default defineComponent({
  props: { greeting: { type: "string" }, store: { type: "data_store" } },
  ${before}
  async run({ steps, $ }) {
    ${body}
  },
});
`;
const ask = <K extends Question["kind"]>(code: string, question: Extract<Question, { kind: K }>) =>
  service.ask(code, question) as Answers[K];
const problems = (code: string) =>
  ask(code, { kind: "diagnose" }).map(({ message }) => message.split("\n")[0]);
/** Names that may follow the first `|`. */
const after = (body: string) => {
  const code = step(body);
  const at = code.indexOf("|");
  const found = ask(code.replace("|", ""), { kind: "complete", at });
  return found.map(({ label }) => label);
};

test("a step that does what the runtime gives has no problem", () => {
  const code = step(
    `const { name } = steps.trigger.event.body.customer;
    const [line] = steps.load.$return_value.lines;
    console.log(name.toUpperCase(), line.sku, steps.untested.anything, this.greeting, process.env.HOME);
    const answer = await fetch("https://example.com", { method: "POST", body: JSON.stringify({ name }) });
    const bytes = Buffer.from(await answer.arrayBuffer()).toString("base64");
    const found = {};
    found.later = bytes;
    await this.store.set("last", found);
    $.export("$summary", name);
    setTimeout(() => {}, 10);
    return $.flow.exit("done");`,
  );
  expect(
    problems(
      `import axios from "axios";\nimport { own } from "./own.mjs";\naxios.get(own);\n${code}`,
    ),
  ).toEqual([]);
});

test("a request by the platform's axios takes its members, and no others", () => {
  const request = (config: string) =>
    problems(`import { axios } from "@pipedream/platform";
${step(`return await axios($, ${config});`)}`);
  const whole = "{ method: 'POST', url: 'https://a', params: { a: 1 }, headers: {}, data: {} }";
  expect(request(whole)).toEqual([]);
  expect(request("{ url: 'https://a', metod: 'POST' }")[0]).toMatch(/'metod' does not exist/);
});

test("JavaScript may leave out checks that TypeScript wants", () => {
  const body = `const start = new Date(0);
    const took = new Date() - start;
    const [, a] = "a-b".match(/(.)-(.)/);
    return [took, a, "a".match(/a/)[0], new Date(0) < Date.now()];`;
  expect(problems(step(body))).toEqual([]);
  expect(
    problems(
      step(`const n: number = 1;
${body}`),
    ).length,
  ).toBeGreaterThan(3);
  expect(problems(step("return new Date().getYeer();"))[0]).toMatch(/'getYeer' does not exist/);
});

test("steps, $, this and what they hold are completed by their types", () => {
  expect(after("steps.|")).toEqual(expect.arrayContaining(["trigger", "load", "untested"]));
  expect(after("steps.trigger.event.body.|")).toEqual(expect.arrayContaining(["id", "customer"]));
  expect(after("steps.load.$return_value.lines[0].|")).toEqual(["sku"]);
  expect(after("$.|")).toEqual(expect.arrayContaining(["export", "flow", "respond", "send"]));
  expect(after("this.|")).toEqual(expect.arrayContaining(["greeting", "store"]));
  expect(after("this.store.|")).toEqual(expect.arrayContaining(["get", "set", "keys"]));
});

test("what is not there is a problem: a member, a step, a name, an argument", () => {
  const [member] = problems(step("return steps.trigger.event.body.custmer;"));
  expect(member).toMatch(/'custmer' does not exist.*Did you mean 'customer'/);
  expect(problems(step("return steps.nobody;"))[0]).toMatch(/'nobody' does not exist/);
  expect(problems(step("return nobody;"))[0]).toMatch(/Cannot find name 'nobody'/);
  expect(problems(step("return this.nobody;"))[0]).toMatch(/'nobody' does not exist/);
  expect(problems(step("$.export(1, 2);"))[0]).toMatch(
    /not assignable to parameter of type 'string'/,
  );
});

test("code that cannot be read has that problem alone", () => {
  const found = ask(step("return steps.nobody +;"), { kind: "diagnose" });
  expect(found.length).toBe(1);
  expect(found[0]?.fatal).toBe(true);
});

test("code with types is read as TypeScript", () => {
  expect(
    problems(step("const n: number = steps.trigger.event.body.id; return n as number;")),
  ).toEqual([]);
  const wrong = problems(step("const n: string = steps.trigger.event.body.id; return n;"));
  expect(wrong[0]).toMatch(/'number' is not assignable to type 'string'/);
});

test("an event that is made up says nothing of the next one", () => {
  const other = languageService(ts, libraries);
  other.setTypes(typeFiles({ event: undefined, results: new Map() }));
  expect(
    other.ask(step("return steps.trigger.event.body.anything;"), { kind: "diagnose" }),
  ).toEqual([]);
});

test("the name at a place is explained, with the value at hand", () => {
  const code = step("return steps.trigger.event.body.id;");
  const found = ask(code, { kind: "hover", at: code.indexOf("body.id") + 6 });
  expect(found?.type).toMatch(/id: number/);
  expect(found?.about).toBe("7");
});

test("code is formatted", () => {
  const code = "export default defineComponent({\nrun( ) {\nreturn 1\n},\n})\n";
  let next = code;
  for (const { from, to, insert } of ask(code, { kind: "format" }).toReversed()) {
    next = next.slice(0, from) + insert + next.slice(to);
  }
  expect(next).toBe("export default defineComponent({\n  run() {\n    return 1\n  },\n})\n");
});
