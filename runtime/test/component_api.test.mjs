// The 25 points of registry-facts section 5, as far as the host plays a part in them. What is not here is the
// bundler's (14 to 17, 23), the server's (21) or a matter of size (25).
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, finished, Host, result, run, source, workflow } from "./harness.mjs";

const app = `const app = { type: "app", app: "acme", propDefinitions: {
    base: { type: "string", label: "Base", async options() { return [this.$auth.key, this.one()]; } } },
  methods: { one() { return "1" + this.$auth.key; }, two(x) { return this.one() + x; }, keys() { return Object.keys(this.$auth); } } };`;
const props = { app: { $auth: { key: "k" } } };

test("1: methods are bound when the instance is made", async () => {
  const code = `${app}
    export default { props: { app }, methods: { own() { return this.app.two("!"); }, fn() { return this.app.two; } },
      run() { const { own, app: { two } } = this; const fn = this.fn(); return [own(), two("?"), fn("."), ["a"].map(this.app.two)]; } };`;
  assert.deepEqual(result(await run(code, { ...source, props })), ["1k!", "1k?", "1k.", ["1ka"]]);
});

test("1: actions too", async () => {
  const code = `${app} export default { props: { app }, methods: { own() { return this.app.one(); } }, async run({ $ }) { const { own } = this; return own(); } };`;
  assert.equal(finished(await run(code, workflow(props))).exports.$return_value, "1k");
});

test("2: the rest of this is the props with a value; nothing of the host leaks", async () => {
  const code = `${app} export default { props: { app, a: "string", b: { type: "string", optional: true }, n: "integer", note: { type: "alert", content: "x" } }, methods: { m() {}, LIMIT: 5, get later() { return this.a + "!"; } },
    run() { const { app, ...data } = this; return { data, all: { ...this }, keys: Object.keys(this), limit: this.LIMIT, later: this.later, inKeys: (() => { const k = []; for (const x in this) k.push(x); return k; })() }; } };`;
  const got = result(await run(code, { ...source, props: { ...props, a: "x", n: 0, b: null } }));
  assert.deepEqual(got.data, { a: "x", n: 0 });
  assert.deepEqual([got.keys, got.inKeys], [["app", "a", "n", "m"], ["app", "a", "n", "m"]]);
  assert.deepEqual([got.limit, got.later], [5, "x!"]);
});

test("3: this may be written to, and nothing of it outlives the run", async () => {
  const code = `export default { props: { a: "string" }, methods: { m() { return this.count; } }, run() { const before = [this.count, this.a]; this.count = 1; this.a = "changed"; this.m = () => 7; this.$emit = 1; return [...before, this.count, this.m()]; } };`;
  const host = await Host.load({ m: code });
  for (const id of [1, 2]) assert.deepEqual(result(await host.call(id, { ...source, props: { a: "x" } })), [null, "x", 1, 7]);
  host.end();
});

test("4: prevContext is an empty object on the first page, page is 0; the context makes the round", async () => {
  const code = `export default { props: { p: { type: "string", async options({ page, prevContext: { offset = 0 }, query }) { return { options: [page, offset, query ?? "none"], context: { offset: offset + 10, next: "t" } }; } } }, run() {} };`;
  const host = await Host.load({ m: code });
  const ask = async (id, more) => result(await host.call(id, { kind: "options", prop: "p", ...more }));
  const first = await ask(1, {});
  assert.deepEqual(first.options.map((o) => o.value), [0, 0, "none"]);
  assert.deepEqual(first.context, { offset: 10, next: "t" });
  const second = await ask(2, { page: 1, prev_context: first.context, query: "q" });
  assert.deepEqual(second.options.map((o) => o.value), [1, 10, "q"]);
  assert.deepEqual((await ask(3, { prev_context: null })).options[1].value, 0);
  host.end();
});

test("4: options may be synchronous, and strings, numbers or objects", async () => {
  const code = `export default { props: { p: { type: "string", options() { return ["a", 1, false, { label: "L", value: { deep: 1 } }, { value: 2 }, { label: "only" }, null]; } } }, run() {} };`;
  assert.deepEqual(result(await run(code, { kind: "options", prop: "p" })), {
    options: [{ label: "a", value: "a" }, { label: "1", value: 1 }, { label: "false", value: false }, { label: "L", value: { deep: 1 } }, { label: "2", value: 2 }, { label: "only", value: "only" }],
    context: null,
  });
});

test("5: inputValues functions get the configured props, and where they throw the options are not ready", async () => {
  const code = `const app = { type: "app", app: "acme", propDefinitions: { t: { type: "string", options(opts) { return Object.entries(opts).map(([k, v]) => k + "=" + JSON.stringify(v)); } } }, methods: { plain(x) { return x + "!"; } } };
    export default { props: { app, base: { type: "string", withLabel: true }, t: { propDefinition: [app, "t", (c) => ({ baseId: c.base.value, other: c.other, more: app.methods.plain("m") })] } }, run() {} };`;
  const host = await Host.load({ m: code });
  const ready = result(await host.call(1, { kind: "options", prop: "t", props: { base: { __lv: { label: "B", value: "b1" } } } }));
  assert.deepEqual(ready.options.map((o) => o.value), ['baseId="b1"', "other=undefined", 'more="m!"', "page=0", "prevContext={}"]);
  const early = result(await host.call(2, { kind: "options", prop: "t", props: {} }));
  assert.deepEqual(early.options, []);
  assert.match(early.not_ready, /value/);
  host.end();
});

test("5: a static object of inputValues reaches the options method", async () => {
  const code = `const app = { type: "app", app: "acme", propDefinitions: { t: { type: "string", options({ kind }) { return [kind]; } } } };
    export default { props: { x: app, t: { propDefinition: [app, "t", { kind: "fixed" }] } }, run() {} };`;
  assert.equal(result(await run(code, { kind: "options", prop: "t" })).options[0].value, "fixed");
});

test("6: merging is shallow, the component's keys win, the app is found by its slug, a missing definition is harmless", async () => {
  const code = `${app}
    export default { props: { myName: { ...app }, p: { propDefinition: [app, "base"], label: "Own", optional: true, hidden: true }, gone: { propDefinition: [app, "nope"], description: "d" } }, run() {} };`;
  const host = await Host.load({ m: code });
  const manifest = result(await host.call(1, { kind: "describe" }));
  assert.deepEqual(manifest.props.slice(1), [
    { name: "p", type: "string", label: "Own", remoteOptions: true, optional: true, hidden: true },
    { name: "gone", type: "string", description: "d" },
  ]);
  const found = result(await host.call(2, { kind: "options", prop: "p", props: { myName: { $auth: { key: "z" } } } }));
  assert.deepEqual(found.options.map((o) => o.value), ["z", "1z"]);
  host.end();
});

test("6: module objects stay as they are, also frozen ones", async () => {
  const code = `${app} Object.freeze(app); Object.freeze(app.methods); const common = Object.freeze({ props: Object.freeze({ app, db: "$.service.db" }), methods: Object.freeze({ m() { return this.app.one(); } }) });
    export default Object.freeze({ ...common, props: { ...common.props, x: "string" }, run() { return [this.m(), Object.keys(app), common.props.app === app]; } });`;
  assert.deepEqual(result(await run(code, { ...source, props })), ["1k", ["type", "app", "propDefinitions", "methods"], true]);
});

test("7: additionalProps may change what it is given, and return nothing else", async () => {
  const code = `export default { props: { x: { type: "string", hidden: true, reloadProps: true }, timer: "$.interface.timer" },
    additionalProps(existing) { existing.x.hidden = false; existing.timer.static = { intervalSeconds: 60 }; existing.timer.hidden = true; return {}; }, run() {} };`;
  const host = await Host.load({ m: code });
  const call = { kind: "additional_props", props: { x: "v" }, previous: {} };
  const { props, dynamic_props } = result(await host.call(1, call));
  assert.deepEqual(props, [{ name: "x", type: "string", hidden: false, reloadProps: true }, { name: "timer", type: "$.interface.timer", static: { intervalSeconds: 60 }, hidden: true }]);
  assert.deepEqual(dynamic_props, props);
  // The module's own definitions were not touched.
  assert.equal(result(await host.call(2, { kind: "describe" })).props[0].hidden, true);
  host.end();
});

test("7: additionalProps may return options functions and references, and read values, methods and db", async () => {
  const code = `${app}
    export default { props: { app, db: "$.service.db", x: { type: "string", reloadProps: true } }, methods: { list() { return [this.x, this.db.get("n")]; } },
      async additionalProps() { const list = this.list(); return { made: { type: "string", options: () => list }, ref: { propDefinition: [app, "base"] } }; }, run() {} };`;
  // Not what runs of the host share: what is stored comes with the call.
  const host = await Host.load({ m: code }, { db: { n: 1 } });
  const call = { props: { ...props, x: "v" }, db: { n: 3 } };
  const { props: all, dynamic_props } = result(await host.call(1, { kind: "additional_props", ...call }));
  assert.deepEqual(all.map((p) => p.name), ["app", "db", "x", "made", "ref"]);
  assert.deepEqual(dynamic_props, [{ name: "made", type: "string", remoteOptions: true }, { name: "ref", type: "string", label: "Base", remoteOptions: true }]);
  assert.deepEqual(result(await host.call(2, { kind: "options", prop: "made", ...call })).options.map((o) => o.value), ["v", 3]);
  assert.deepEqual(result(await host.call(3, { kind: "options", prop: "ref", ...call })).options.map((o) => o.value), ["k", "1k"]);
  host.end();
});

test("7: what a form sets in its db is seen by that call alone", async () => {
  const code = `export default { props: { db: "$.service.db", p: { type: "string", options() { this.db.set("n", this.db.get("n") + 1); this.db.delete("m"); return [this.db.get("n"), this.db.get("m") ?? 0]; } } },
    run() { return [this.db.get("n"), this.db.get("m")]; } };`;
  const host = await Host.load({ m: code }, { db: { n: 1, m: 5 } });
  for (const id of [1, 2]) assert.deepEqual(result(await host.call(id, { kind: "options", prop: "p", db: { n: 3 } })).options.map((o) => o.value), [4, 0]);
  assert.deepEqual(result(await host.call(3, source)), [1, 5]);
  assert.deepEqual(host.frames.filter((f) => f.t === "db"), []);
  host.end();
});

test("7: a ConfigurationError of additionalProps comes out with its name", async () => {
  const code = `class ConfigurationError extends Error { constructor(m) { super(m); this.name = "ConfigurationError"; } }
    export default { props: { x: "string" }, additionalProps() { throw new ConfigurationError("choose another"); }, run() {} };`;
  const { error } = done(await run(code, { kind: "additional_props" }));
  assert.deepEqual([error.code, error.message], ["ConfigurationError", "choose another"]);
});

test("7: interfaces that only additionalProps declares work in run", async () => {
  const code = `export default { props: { x: "string" }, additionalProps() { return { http: { type: "$.interface.http", customResponse: true }, db: "$.service.db", l: { type: "string", withLabel: true } }; },
    run() { this.db.set("a", 1); this.http.respond({ status: 201 }); return [this.http.endpoint, this.l]; } };`;
  const host = await Host.load({ m: code }, { db: {} });
  const { dynamic_props } = result(await host.call(1, { kind: "additional_props" }));
  const frames = await host.call(2, { ...source, props: { http: { endpoint: "https://e" }, l: { __lv: { label: "L", value: "v" } } }, dynamic_props });
  assert.deepEqual(result(frames), ["https://e", { label: "L", value: "v" }]);
  assert.equal(frames.find((f) => f.t === "respond").status, 201);
  host.end();
});

test("8: a run answers while activate still waits, and sees what the hook set", async () => {
  const code = `let go; export default { props: { db: "$.service.db", http: "$.interface.http" },
    hooks: { async activate() { this.db.set("secret", "s"); await new Promise((r) => (go = r)); return this.db.get("secret"); } },
    run(event) { this.db.set("seen", this.db.get("secret")); this.http.respond({ status: 200, headers: { "x-hook-secret": event.headers["X-Hook-Secret"] } }); go(); } };`;
  const host = await Host.load({ m: code }, { db: {} });
  host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...source, hook: "activate" });
  const inner = await host.call(2, { ...source, event: { method: "POST", headers: { "x-hook-secret": "h" } } });
  assert.deepEqual(inner.find((f) => f.t === "respond").headers, [["x-hook-secret", "h"]]);
  assert.equal((await host.until((f) => f.t === "done" && f.id === 1)).result, "s");
  host.end();
});

test("9: deploy emits history and sets cursors; deactivate sees them", async () => {
  const code = `export default { props: { db: "$.service.db" }, methods: { history() { for (const id of [1, 2]) this.$emit({ id }, { id, ts: id }); this.db.set("cursor", 2); } },
    hooks: { async deploy() { this.history(); }, deactivate() { return this.db.get("cursor"); } }, run() {} };`;
  const host = await Host.load({ m: code }, { db: {} });
  const frames = await host.call(1, { ...source, hook: "deploy" });
  assert.deepEqual(frames.filter((f) => f.t === "emit").map((f) => f.meta), [{ id: 1, ts: 1 }, { id: 2, ts: 2 }]);
  assert.equal(result(await host.call(2, { ...source, hook: "deactivate" })), 2);
  assert.equal(done(await host.call(3, { ...source, hook: "activate" })).ok, true);
  host.end();
});

test("10: a source without run emits its event", async () => {
  const frames = await run(`export default { name: "s", props: { timer: "$.interface.timer" } };`, { ...source, event: { timestamp: 5, interval_seconds: 60 } });
  assert.deepEqual(frames.find((f) => f.t === "emit").event, { timestamp: 5, interval_seconds: 60 });
});

test("11: interfaces are declared as plain strings too", async () => {
  const code = `export default { props: { db: "$.service.db", http: "$.interface.http", s: "string" }, run() { this.db.set("a", 1); return [this.db.get("a"), this.http.endpoint, this.s]; } };`;
  assert.deepEqual(result(await run(code, { ...source, props: { http: { endpoint: "https://e" }, s: "x" } }, { db: {} })), [1, "https://e", "x"]);
});

test("12: timers keep static, cron and none; this.timer is the interface", async () => {
  const code = `export default { props: { a: { type: "$.interface.timer", static: { intervalSeconds: 5 } }, b: { type: "$.interface.timer", default: { cron: "0 * * * *" } }, c: "$.interface.timer" }, run() { return this.c; } };`;
  const host = await Host.load({ m: code });
  assert.deepEqual(result(await host.call(1, { kind: "describe" })).props, [
    { name: "a", type: "$.interface.timer", static: { intervalSeconds: 5 } },
    { name: "b", type: "$.interface.timer", default: { cron: "0 * * * *" } },
    { name: "c", type: "$.interface.timer" },
  ]);
  assert.deepEqual(result(await host.call(2, { ...source, props: { c: { interval_seconds: 9 } } })), { type: "$.interface.timer", interval_seconds: 9 });
  host.end();
});

test("13: a default inside the default is taken only where the outer one is no component", async () => {
  const inner = `{ key: "inner", run() { return "inner"; } }`;
  assert.equal(result(await run(`export default { default: ${inner} };`, source)), "inner");
  assert.equal(result(await run(`export default { key: "outer", default: ${inner}, run() { return "outer"; } };`, source)), "outer");
  assert.equal(result(await run(`export const key = "bare"; export const run = () => "bare";`, source)), "bare");
  for (const define of ["defineComponent", "defineSource", "defineAction"]) assert.equal(result(await run(`export default ${define}(${inner});`, source)), "inner");
});

test("18: what a module keeps lives on from call to call", async () => {
  const host = await Host.load({ m: `let n = 0; export default { run() { return ++n; } };` });
  assert.equal(result(await host.call(1, source)), 1);
  assert.equal(result(await host.call(2, source)), 2);
  host.end();
});

test("19: an open handle does not keep a run from ending", async () => {
  const code = `import { createServer } from "node:net"; export default { run() { createServer().listen(0); setInterval(() => {}, 1000); setTimeout(() => {}, 60000); return 1; } };`;
  assert.equal(result(await run(code, source)), 1);
});

test("20: sleeping is fine, and other calls go on meanwhile", async () => {
  const code = `let wake; export default { async run(event) { if (event.first) await new Promise((r) => { wake = r; }); else wake(); return event.first ?? false; } };`;
  const host = await Host.load({ m: code });
  host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...source, event: { first: true } });
  assert.equal(result(await host.call(2, source)), false);
  await host.until((f) => f.t === "done" && f.id === 1);
  host.end();
});

test("22: code that makes code works", async () => {
  assert.deepEqual(result(await run(`export default { run() { return [Function("return 1")(), eval("1+1"), typeof globalThis["RangeError"]]; } };`, source)), [1, 2, "function"]);
});

test("24: values are kept as given; labels are unwrapped where the prop asks for none", async () => {
  const code = `export default { props: { s: "string", o: "object", l: { type: "string", withLabel: true }, plain: "string", list: { type: "string[]" }, labelled: { type: "string[]", withLabel: true } },
    run() { const { ...all } = this; return all; } };`;
  const lv = (value) => ({ __lv: { label: `L${value}`, value } });
  const given = { s: "5", o: '{"a":1}', l: lv("a"), plain: lv("b"), list: [lv("c"), "d"], labelled: { __lv: [{ label: "Le", value: "e" }] } };
  assert.deepEqual(result(await run(code, { ...source, props: given })), {
    s: "5", o: '{"a":1}', l: { label: "La", value: "a" }, plain: "b", list: ["c", "d"], labelled: [{ label: "Le", value: "e" }],
  });
});
