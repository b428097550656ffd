// Props as an editor meets them: definitions, options, additionalProps (spec 2.7, reference 3).
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, finished, Host, result, run, source, workflow } from "./harness.mjs";

test("definitions build on others; options run with the app that they come from, fed by all levels", async () => {
  const code = `const low = { type: "app", app: "low", propDefinitions: { id: { type: "integer", label: "Low", min: 1, options(o) { return [this.tag() + JSON.stringify(o)]; } } }, methods: { tag() { return "low:" + this.$auth.key; } } };
    const high = { type: "app", app: "high", propDefinitions: { id: { propDefinition: [low, "id", { a: 1, b: 1 }], label: "High", max: 9 } }, methods: { tag() { return "high"; } } };
    export default { props: { high, low, p: { propDefinition: [high, "id", (c) => ({ b: c.n })], label: "Own" }, n: "integer", own: { propDefinition: [high, "id"], options() { return [Object.keys(this).join()]; } } }, run() {} };`;
  const host = await Host.load({ m: code });
  const described = result(await host.call(1, { kind: "describe" })).props;
  assert.deepEqual(described[2], { name: "p", type: "integer", label: "Own", min: 1, remoteOptions: true, max: 9, dependsOn: ["n"] });
  const props = { low: { $auth: { key: "k" } }, n: 5 };
  assert.deepEqual(result(await host.call(2, { kind: "options", prop: "p", props })).options[0].value, 'low:k{"a":1,"b":5,"page":0,"prevContext":{}}');
  assert.deepEqual(result(await host.call(3, { kind: "options", prop: "own", props })).options[0].value, "high,low,n");
  host.end();
});

test("options of an app that the component has no prop of run with the bare app", async () => {
  const code = `const app = { type: "app", app: "x", propDefinitions: { id: { type: "string", options() { return [this.tag()]; } } }, methods: { tag() { return typeof this.$auth; } } };
    export default { props: { id: { propDefinition: [app, "id"] } }, run() {} };`;
  assert.equal(result(await run(code, { kind: "options", prop: "id" })).options[0].value, "object");
});

test("a prop names the props that its options depend on, and no function that is asked for them breaks the description", async () => {
  const code = (inputs) => `const app = { type: "app", app: "x", propDefinitions: { id: { type: "string", options() { return []; } } }, methods: { of(v) { return v.toUpperCase(); } } };
    export default { props: { app, p: { propDefinition: [app, "id", ${inputs}] } }, run() {} };`;
  for (const [inputs, names] of [
    ["(c) => ({ sheetId: c.sheetId })", ["sheetId"]],
    ["({ team, channel }) => ({ team, channel })", ["team", "channel"]],
    ["(c) => ({ a: c.base.value, b: c.table })", ["base", "table"]],
    ["(c) => ({ a: c.base?.value ?? c.base, self: c.p })", ["base"]],
    ["function (c) { return { a: this.app.of(c.base) }; }", ["base"]],
    ["(c) => { throw new Error(c.base); }", ["base"]],
    ["async (c) => ({ a: c.base })", undefined],
    ["() => Promise.reject(new Error('no'))", undefined],
    ["{ fixed: 1 }", undefined],
    ["(c) => { for (let i = 0; i < 1000; i++) c['n' + i]; }", Array.from({ length: 20 }, (_, i) => `n${i}`)],
  ]) {
    assert.deepEqual(result(await run(code(inputs), { kind: "describe" })).props[1].dependsOn, names, inputs);
  }
  const own = `export default { props: { a: "string", p: { type: "string", dependsOn: ["a"], options() { return []; } }, q: { type: "string", dependsOn: "a", options() { return []; } } }, run() {} };`;
  const props = result(await run(own, { kind: "describe" })).props;
  assert.deepEqual([props[1].dependsOn, props[2].dependsOn], [["a"], undefined]);
});

test("a definition that builds on itself ends", async () => {
  const code = `const app = { type: "app", app: "x", propDefinitions: {} }; app.propDefinitions.a = { propDefinition: [app, "a"], label: "L" }; export default { props: { app, a: { propDefinition: [app, "a"] } }, run() {} };`;
  assert.deepEqual(result(await run(code, { kind: "describe" })).props[1], { name: "a", type: "string", label: "L" });
});

test("options that throw, or are no list, are a clear error that names the prop", async () => {
  const cases = [
    [`throw new RangeError("third party said no")`, /^third party said no$/],
    [`return "text"`, /the options of the prop `p` must be an array, or an object with `options` and `context`; got a string \(text\)/],
    [`return 5`, /got a number \(5\)/],
    [`return { nonsense: 1 }`, /got an object/],
    [`return { options: "x", context: {} }`, /got a string/],
    [`return [{ foo: 1 }]`, /the one at 0 must be a string, a number, or an object with `label` and `value`; got an object/],
    [`return ["ok", []]`, /the one at 1 must be .*; got an array/],
    [`return [() => 1]`, /the one at 0 must be/],
    [`return [{ label: "x", value: 5n }]`, /the value of the one at 0 is a bigint \(5\), which is not JSON-serializable/],
  ];
  for (const [body, message] of cases) {
    const end = done(await run(`export default { props: { p: { type: "string", async options() { ${body}; } } }, run() {} };`, { kind: "options", prop: "p" }));
    assert.equal(end.ok, false, body);
    assert.match(end.error.message, message);
  }
});

test("options that give nothing are none; static ones are answered too; a prop that is not there is an error", async () => {
  const code = `export default { props: { none: { type: "string", options() {} }, only: { type: "string", options() { return { context: { a: 1 } }; } }, fixed: { type: "string", options: ["a", { label: "B", value: "b" }] }, free: "string" }, run() {} };`;
  const host = await Host.load({ m: code });
  let id = 0;
  const ask = (prop) => host.call(++id, { kind: "options", prop });
  assert.deepEqual(result(await ask("none")), { options: [], context: null });
  assert.deepEqual(result(await ask("only")), { options: [], context: { a: 1 } });
  assert.deepEqual(result(await ask("fixed")).options, [{ label: "a", value: "a" }, { label: "B", value: "b" }]);
  assert.deepEqual(result(await ask("free")).options, []);
  assert.match(done(await ask("nope")).error.message, /the component has no prop `nope`/);
  host.end();
});

test("options of an earlier call do not see those of another", async () => {
  const code = `export default { props: { a: "string", p: { type: "string", async options({ page }) { const a = this.a; this.a = "changed"; await new Promise((r) => setTimeout(r, 1)); return [a, page]; } } }, run() {} };`;
  const host = await Host.load({ m: code });
  const all = await Promise.all([1, 2].map((id) => host.call(id, { kind: "options", prop: "p", props: { a: `v${id}` }, page: id })));
  assert.deepEqual(all.map((frames) => result(frames).options.map((o) => o.value)), [["v1", 1], ["v2", 2]]);
  host.end();
});

test("what an app hook listens for is a list or a function of the configured props", async () => {
  const code = `export default { props: { kind: "string", hook: { type: "$.interface.apphook", appProp: "zoom", async eventNames() { return [this.kind + ".created"]; } }, fixed: { type: "$.interface.apphook", appProp: "zoom", eventNames: ["a"] } }, run() {} };`;
  const host = await Host.load({ m: code });
  const described = result(await host.call(1, { kind: "describe" })).props;
  assert.deepEqual(described.slice(1), [{ name: "hook", type: "$.interface.apphook", appProp: "zoom", remoteEventNames: true }, { name: "fixed", type: "$.interface.apphook", appProp: "zoom", eventNames: ["a"] }]);
  assert.equal(result(await host.call(2, { kind: "options", prop: "hook", props: { kind: "meeting" } })).options[0].value, "meeting.created");
  assert.equal(result(await host.call(3, { kind: "options", prop: "fixed" })).options[0].value, "a");
  host.end();
});

test("the manifest keeps every field, known or not, and unknown types", async () => {
  const code = `export default { name: "n", annotations: { readOnlyHint: true, f() {} }, props: {
    a: { type: "string", label: "A", description: "d", secret: true, optional: true, default: "x", format: "file-ref", useQuery: true, withLabel: true, hidden: true, disabled: true, reloadProps: true, own: { deep: [1, null] } },
    i: { type: "integer[]", min: 1, max: 5, default: [1] }, d: { type: "dir", accessMode: "read", sync: true }, q: { type: "sql", auth: { app: "postgresql" }, label: "q" }, c: { type: "$.discord.channel", appProp: "discord" }, al: { type: "alert", alertType: "info", content: "c" },
    odd: { type: "flux.capacitor", power: 1.21 }, typeless: { label: "t" }, made: { type: "string", default: () => "now" }, later: { type: "string", default: async () => { throw new Error("no"); } }, bad: { type: "string", default() { return this.x.y; } }, hole: undefined, nil: null, list: ["x"], n: 5 }, run() {} };`;
  const manifest = result(await run(code, { kind: "describe" }));
  assert.deepEqual(manifest.annotations, { readOnlyHint: true });
  assert.deepEqual(manifest.props, [
    { name: "a", type: "string", label: "A", description: "d", secret: true, optional: true, default: "x", format: "file-ref", useQuery: true, withLabel: true, hidden: true, disabled: true, reloadProps: true, own: { deep: [1, null] } },
    { name: "i", type: "integer[]", min: 1, max: 5, default: [1] }, { name: "d", type: "dir", accessMode: "read", sync: true }, { name: "q", type: "sql", auth: { app: "postgresql" }, label: "q" },
    { name: "c", type: "$.discord.channel", appProp: "discord" }, { name: "al", type: "alert", alertType: "info", content: "c" }, { name: "odd", type: "flux.capacitor", power: 1.21 },
    { name: "typeless", type: "string", label: "t" }, { name: "made", type: "string", default: "now" }, { name: "later", type: "string" }, { name: "bad", type: "string" },
  ]);
});

test("an app prop keeps the prop's own fields, and none of the app's", async () => {
  const code = `const app = { type: "app", app: "acme", propDefinitions: { a: "string" }, methods: { m() {} } }; export default { props: { app: { ...app, label: "Account", optional: true }, s: { propDefinition: [app, "a"] } }, run() {} };`;
  assert.deepEqual(result(await run(code, { kind: "describe" })).props, [{ name: "app", type: "app", app: "acme", label: "Account", optional: true }, { name: "s", type: "string" }]);
});

test("values of unknown types reach run as they are", async () => {
  const code = `export default { props: { odd: { type: "flux.capacitor" }, d: { type: "dir" }, note: { type: "alert" } }, run() { return [this.odd, this.d, "note" in this]; } };`;
  assert.deepEqual(result(await run(code, { ...source, props: { odd: { a: 1 }, d: "", note: "x" } })), [{ a: 1 }, "", false]);
});

test("values of props that the component has not are no keys of this, unless additionalProps may know them", async () => {
  const props = { a: "1", removed: "old", run: "r", $auth: "s", toString: "t", constructor: "c" };
  const code = `export default { props: { a: "string" }, methods: { m() {} }, run() { return Object.keys(this); } };`;
  assert.deepEqual(result(await run(code, { ...source, props })), ["a", "m"]);
  assert.deepEqual(result(await run(code, { kind: "action", props, context: {} })).$return_value, ["a", "m"]);
  assert.deepEqual(finished(await run(code, workflow({}, { steps: [{ namespace: "one", module: "m", props, disabled: false }] }))).exports.$return_value, ["a", "m"]);
  const dynamic = code.replace("run()", "additionalProps() { return { made: { type: 'string', label: Object.keys(this).join() } }; }, run()");
  const values = { a: "1", made: "x", removed: "old" };
  const dynamic_props = [{ name: "made", type: "string" }];
  assert.deepEqual(result(await run(dynamic, { ...source, props: values, dynamic_props })), ["a", "made", "m"]);
  assert.deepEqual(result(await run(dynamic, { ...source, props: values, dynamic_props: [] })), ["a", "m"]);
  assert.deepEqual(result(await run(dynamic, { ...source, props: values, dynamic_props: null })), ["a", "made", "removed", "m"]);
  const { dynamic_props: asked } = result(await run(dynamic, { kind: "additional_props", props: values, dynamic_props: [] }));
  assert.equal(asked[0].label, "a,made,removed,m");
});

test("an optional app without an account is undefined, and one that is required is there", async () => {
  const code = `const app = { type: "app", app: "acme", methods: { m() { return 1; } }, propDefinitions: { d: { type: "string", options() { return [String(this.m())]; } } } };
    export default { props: { one: app, two: { ...app, optional: true }, s: { propDefinition: [{ ...app, app: "b" }, "d"], optional: true } }, run() { return [Object.keys(this), this.two === undefined, this.one.m()]; } };`;
  assert.deepEqual(result(await run(code, { ...source, props: {} })), [["one"], true, 1]);
  assert.deepEqual(result(await run(code, { ...source, props: { two: { $auth: {} } } })), [["one", "two"], false, 1]);
  const only = code.replace("one: app, ", "").replace('{ ...app, app: "b" }', "app");
  assert.deepEqual(result(await run(only, { kind: "options", prop: "s", props: {} })).options, [{ label: "1", value: "1" }]);
});

test("an app that only additionalProps declares is the component's app of that name", async () => {
  const code = `const app = { type: "app", app: "acme", methods: { m() { return this.$auth.key; } } };
    export default { props: { one: app }, additionalProps() { return { two: app }; }, run() { return [this.one.m(), this.two.m()]; } };`;
  const host = await Host.load({ m: code });
  const { dynamic_props } = result(await host.call(1, { kind: "additional_props" }));
  assert.deepEqual(dynamic_props, [{ name: "two", type: "app", app: "acme" }]);
  assert.deepEqual(result(await host.call(2, { ...source, dynamic_props, props: { one: { $auth: { key: 1 } }, two: { $auth: { key: 2 } } } })), [1, 2]);
  host.end();
});

test("dynamic props of a step are known in its run", async () => {
  const code = `export default { props: { x: "string" }, async run() { return [this.l, typeof this.s.get]; } };`;
  const dynamic_props = [{ name: "l", type: "string", withLabel: true }, { name: "s", type: "data_store" }];
  const steps = [{ namespace: "one", module: "m", props: { l: { __lv: { label: "L", value: 1 } }, s: "ds_1" }, dynamic_props, disabled: false }];
  assert.deepEqual(finished(await run(code, workflow({}, { steps }))).exports.$return_value, [{ label: "L", value: 1 }, "function"]);
});

test("the earlier definitions are seen, and are gone where they are not given again", async () => {
  const code = `export default { props: { x: { type: "string", reloadProps: true } }, additionalProps(previous) { const names = Object.keys(previous); previous.fresh = { type: "string" }; return { seen: { type: "string", label: names.join() } }; }, run() {} };`;
  const host = await Host.load({ m: code });
  for (const [id, previous] of [{ old: { type: "string" } }, [{ name: "x", type: "string" }, { name: "old", type: "string" }]].entries()) {
    const { props } = result(await host.call(id + 1, { kind: "additional_props", previous }));
    assert.deepEqual(props.map((p) => p.name), ["x", "fresh", "seen"]);
    assert.match(props[2].label, /old/);
  }
  host.end();
});

test("additionalProps that gives nonsense, or throws, is a clear error", async () => {
  assert.match(done(await run(`export default { additionalProps() { return "x"; }, run() {} };`, { kind: "additional_props" })).error.message, /additionalProps must return an object of prop definitions; it returned a string \(x\)/);
  assert.equal(done(await run(`export default { async additionalProps() { throw new URIError("u"); }, run() {} };`, { kind: "additional_props" })).error.code, "URIError");
  assert.deepEqual(result(await run(`export default { props: { a: "string" }, run() {} };`, { kind: "additional_props" })), { props: [{ name: "a", type: "string" }], dynamic_props: [] });
});
