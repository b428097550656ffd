// What `additionalProps` declares: options, apps and values of its props (spec 2.7.1).
import assert from "node:assert/strict";
import { test } from "node:test";

import { finished, Host, result, run, source, workflow } from "./harness.mjs";

const acme = `const acme = { type: "app", app: "acme", propDefinitions: { p: { type: "string", options() { return [this.who()]; } } }, methods: { who() { return this.$auth.k; } } };`;
const values = (frames) => result(frames).options.map((option) => option.value);

test("options of a prop that additionalProps changes or returns anew are those of additionalProps", async () => {
  const code = `export default { props: { a: { type: "string", options: ["old"] }, b: { type: "string", async options() { return ["old"]; } }, c: { type: "string", options: ["own"] }, hook: { type: "$.interface.apphook", eventNames: () => ["made"] }, stop: "boolean" },
    additionalProps(existing) { if (this.stop) throw new Error("stop"); existing.a.options = async () => ["changed"]; return { b: { ...existing.b, options: async () => ["anew"] } }; }, run() {} };`;
  const host = await Host.load({ m: code });
  // As the form's last answer of additionalProps named them.
  const previous = ["a", "b"].map((name) => ({ name, type: "string" }));
  assert.deepEqual(values(await host.call(1, { kind: "options", prop: "a", previous })), ["changed"]);
  assert.deepEqual(values(await host.call(2, { kind: "options", prop: "b", previous })), ["anew"]);
  assert.deepEqual(values(await host.call(3, { kind: "options", prop: "c", previous })), ["own"]);
  // Where it cannot say, those of the component hold, and so they do before a form has asked it.
  assert.deepEqual(values(await host.call(4, { kind: "options", prop: "b", previous, props: { stop: true } })), ["old"]);
  assert.deepEqual(values(await host.call(5, { kind: "options", prop: "b" })), ["old"]);
  assert.deepEqual(values(await host.call(6, { kind: "options", prop: "hook", props: { stop: true } })), ["made"]);
  host.end();
});

test("of two props of one app, options run with the account of the one that the reference names", async () => {
  const code = `${acme} const to = { ...acme }; export default { props: { from: acme, to, fixed: { propDefinition: [to, "p"] } },
    additionalProps(existing) { existing.to.label = "To"; return { x: { propDefinition: [to, "p"] }, y: { propDefinition: [acme, "p"] }, z: { propDefinition: [existing.to, "p"] } }; }, run() {} };`;
  const host = await Host.load({ m: code });
  const props = { from: { $auth: { k: "from" } }, to: { $auth: { k: "to" } } };
  const asked = [];
  for (const [id, prop] of ["fixed", "x", "y", "z"].entries()) asked.push(...values(await host.call(id + 1, { kind: "options", prop, props })));
  assert.deepEqual(asked, ["to", "to", "from", "to"]);
  // The module's own app was not touched.
  assert.equal(result(await host.call(9, { kind: "describe" })).props[1].label, undefined);
  host.end();
});

test("an app that only additionalProps declares has its methods in options and in a run", async () => {
  const code = `${acme} export default { props: { n: "string" }, additionalProps() { if (this.n === "fails") throw new Error("no"); return { acme, q: { propDefinition: [acme, "p"] } }; }, run() { return this.acme.who?.() ?? "none"; } };`;
  const props = { n: "x", acme: { $auth: { k: "key" } } };
  assert.deepEqual(values(await run(code, { kind: "options", prop: "q", props })), ["key"]);
  const dynamic_props = [{ name: "acme", type: "app", app: "acme" }];
  assert.equal(result(await run(code, { ...source, props, dynamic_props })), "key");
  assert.equal(result(await run(code, { kind: "action", props, dynamic_props, context: {} })).$return_value, "key");
  const steps = [{ namespace: "one", module: "m", props, dynamic_props, disabled: false }];
  assert.equal(finished(await run(code, workflow({}, { steps }))).exports.$return_value, "key");
  const failed = await run(code, { ...source, props: { ...props, n: "fails" }, dynamic_props });
  assert.equal(result(failed), "none");
  assert.match(failed.find((frame) => frame.t === "log").text, /only additionalProps has the app of `acme`, and it failed \(Error: no\)/);
});

test("a run calls additionalProps only for an app that the component has not, until it has returned it", async () => {
  const code = (own) => `${acme} let calls = 0; export default { props: { n: "string"${own ? ", acme" : ""} }, additionalProps() { if (++calls === 1) throw new Error("no"); return { other: acme }; }, run() { return calls; } };`;
  const dynamic_props = [{ name: "other", type: "app", app: "acme" }, { name: "t", type: "string" }];
  const counts = async (own) => {
    const host = await Host.load({ m: code(own) });
    const called = [];
    for (const id of [1, 2, 3]) called.push(result(await host.call(id, { ...source, props: {}, dynamic_props })));
    host.end();
    return called;
  };
  assert.deepEqual(await counts(true), [0, 0, 0]);
  assert.deepEqual(await counts(false), [1, 2, 2]);
});

test("values of a step's dynamic props stay where an expression decides which there are", async () => {
  const code = `export default { props: { n: { type: "integer", reloadProps: true }, t: "string" }, additionalProps() {}, run() { return { ...this }; } };`;
  const dynamic_props = [{ name: "w", type: "string", withLabel: true }];
  const ran = async (props) => finished(await run(code, workflow({}, { steps: [{ namespace: "one", module: "m", props, dynamic_props, disabled: false }] }))).exports.$return_value;
  const others = { t: "{{1}}", v0: "{{2}}", w: { __lv: { label: "L", value: 1 } } };
  const w = { label: "L", value: 1 };
  assert.deepEqual(await ran({ n: "{{1+1}}", ...others }), { n: 2, t: 1, v0: 2, w });
  assert.deepEqual(await ran({ n: 2, ...others }), { n: 2, t: 1, w });
});

test("functions, symbols and class instances in options and defaults do not disturb additionalProps", async () => {
  const code = `class Money { constructor() { this.n = 1; } } const shared = { f() {}, s: Symbol("s"), at: new Date(0), money: new Money(), list: [1] }; shared.self = shared;
    export default { props: { a: { type: "string", options: [{ label: "A", value: "a", make() {} }] }, b: { type: "object", default: shared } },
      additionalProps(existing) { existing.b.default.list.push(2); existing.a.options.push("b"); return { kept: { type: "string", label: [typeof existing.b.default.f, existing.b.default.money instanceof Money, shared.list.length].join() } }; }, run() {} };`;
  const { props } = result(await run(code, { kind: "additional_props" }));
  assert.deepEqual(props[0].options, [{ label: "A", value: "a" }, "b"]);
  assert.deepEqual(props[1].default.list, [1, 2]);
  assert.equal(props[2].label, "function,true,1");
});

test("an option whose value is null is a choice of none, not of its label", async () => {
  const code = `export default { props: { p: { type: "string", options: async () => [{ label: "None", value: null }, { label: "Only" }, { label: "U", value: undefined }] } }, run() {} };`;
  assert.deepEqual(result(await run(code, { kind: "options", prop: "p" })).options, [{ label: "None", value: null }, { label: "Only", value: "Only" }, { label: "U", value: "U" }]);
});

test("props may be named as members of all objects: without a value they are undefined", async () => {
  const names = ["valueOf", "toString", "constructor", "__proto__", "hasOwnProperty"];
  const defs = names.map((name) => `[${JSON.stringify(name)}]: { type: "string", optional: true }`).join();
  const seen = `run() { return ${JSON.stringify(names)}.map((name) => this[name] ?? null).concat(Object.keys(this).length); }`;
  const given = JSON.parse(`{${names.map((name) => `${JSON.stringify(name)}:"v"`).join()}}`);
  const none = [null, null, null, null, null, 0];
  const all = ["v", "v", "v", "v", "v", 5];
  const fixed = `export default { props: { ${defs} }, ${seen} };`;
  assert.deepEqual(result(await run(fixed, { ...source, props: {} })), none);
  assert.deepEqual(result(await run(fixed, { ...source, props: given })), all);
  assert.deepEqual(finished(await run(fixed, workflow(given))).exports.$return_value, all);
  const dynamic = `export default { additionalProps() { return { ${defs} }; }, ${seen} };`;
  const host = await Host.load({ m: dynamic });
  const { dynamic_props } = result(await host.call(1, { kind: "additional_props" }));
  assert.deepEqual(dynamic_props.map((prop) => prop.name), names);
  assert.deepEqual(result(await host.call(2, { ...source, dynamic_props })), none);
  assert.deepEqual(result(await host.call(3, { ...source, dynamic_props, props: given })), all);
  host.end();
});
