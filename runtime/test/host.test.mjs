// What the host does with one module and one call, over its wire.
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, Host, run, source, workflow } from "./harness.mjs";

test("own enumerable keys of this are props with a value and methods", async () => {
  const code = `export default { props: { a: "string", b: { type: "string" }, db: "$.service.db" }, methods: { m() { return this.a; } }, run() { const { m } = this; return { keys: Object.keys(this), m: m() }; } };`;
  const frames = await run(code, { ...source, props: { a: "x" } });
  assert.deepEqual(done(frames).result, { keys: ["a", "db", "m"], m: "x" });
});

test("app methods are bound, $auth is not enumerable, module objects stay as they are", async () => {
  const code = `const app = { type: "app", app: "x", methods: { base() { return this.$auth.key; }, call() { return this.base() + "!"; } } };
    export default { props: { app }, run() { const f = this.app.call; return [f(), Object.keys(this.app), "$auth" in app]; } };`;
  const frames = await run(code, { ...source, props: { app: { $auth: { key: "k" } } } });
  assert.deepEqual(done(frames).result, ["k!", ["base", "call"], false]);
});

test("emits before a throw are sent, and the error has its class", async () => {
  const frames = await run(`export default { run() { this.$emit({ n: 1 }, { id: 7, summary: "s" }); throw new RangeError("no"); } };`, source);
  assert.deepEqual(frames.filter((f) => f.t === "emit").map((f) => [f.event, f.meta]), [[{ n: 1 }, { id: 7, summary: "s" }]]);
  assert.equal(done(frames).ok, false);
  assert.equal(done(frames).error.code, "RangeError");
});

test("an event that is no JSON is a clear TypeError", async () => {
  const frames = await run(`export default { run() { const a = {}; a.a = a; this.$emit(a, { id: 1 }); } };`, source);
  assert.match(done(frames).error.message, /emitted event is not JSON-serializable/);
});

test("db is synchronous, gives copies and sends each write", async () => {
  const code = `export default { props: { db: "$.service.db" }, async run() { const o = this.db.get("o"); o.n = 5; this.db.set("k", null); return [this.db.get("o"), await this.db.get("k"), this.db.get("none") === undefined]; } };`;
  const frames = await run(code, source, { db: { o: { n: 1 } } });
  assert.deepEqual(done(frames).result, [{ n: 1 }, null, true]);
  assert.deepEqual(frames.filter((f) => f.t === "db"), [{ id: 1, t: "db", key: "k", value: null }]);
});

test("headers are found in any case", async () => {
  const event = { method: "GET", headers: { "content-type": "a/b" } };
  const frames = await run(`export default { run(e) { return [e.headers["Content-Type"], Object.keys(e.headers)]; } };`, { ...source, event });
  assert.deepEqual(done(frames).result, ["a/b", ["content-type"]]);
});

test("a source without run emits its event", async () => {
  const frames = await run(`export default { name: "s" };`, { ...source, event: { timestamp: 5 } });
  assert.deepEqual(frames.find((f) => f.t === "emit").event, { timestamp: 5 });
});

test("one expression keeps its type, text around makes a string", async () => {
  const code = `export default { props: { a: "any", b: "string" }, run() { return [this.a, this.b]; } };`;
  const frames = await run(code, workflow({ a: "{{ steps.trigger.event.n * 2 }}", b: "n={{JSON.stringify({a: {b: '}}'}})}}" }));
  assert.deepEqual(frames.find((f) => f.state === "finished").exports.$return_value, [40, `n={"a":{"b":"}}"}}`]);
});

test("a name that an expression has not is refused with what it may name", async () => {
  const host = await Host.load({ m: `export default { props: { a: "any" }, run() { return this.a; } };` });
  const called = async (id, a) => {
    const steps = [{ namespace: "made", module: "m", props: {} }, { namespace: "one", module: "m", props: { a } }];
    return done(await host.call(id, workflow({}, { results: { made: { id: 1 } }, steps })));
  };
  const allowed = "An expression knows `steps` and the names of JavaScript: a value of an event or step is named through `steps`, such as {{steps.trigger.event.id}}; quote what is text";
  for (const [i, [a, name]] of [["{{this}}", "this"], ["{{this.email}}", "this"], ["to {{ this }}", "this"], ["{{email}}", "email"], ["{{email.at}}", "email"]].entries()) {
    const { ok, error } = await called(i + 1, a);
    assert.deepEqual([ok, error.message.split(" failed: ")[1]], [false, `ReferenceError: ${name} is not defined. ${allowed}`], a);
  }
  const { error } = await called(8, "{{made.id}}");
  assert.match(error.message, /made is not defined\. An expression knows `steps` and the names of JavaScript: write `steps\.made` for the results of that step$/);
  assert.equal((await called(9, "{{'this'.length}}")).ok, true);
  host.end();
});

test("a failing expression names step, prop and expression", async () => {
  const frames = await run(`export default { props: { a: "any" }, run() {} };`, workflow({ a: "{{steps.nope.x}}" }));
  assert.match(done(frames).error.message, /\{\{steps\.nope\.x\}\} in the prop `a` of the step `one` failed/);
  assert.equal(done(frames).namespace, "one");
});

test("exit works without return, also where code swallows its signal", async () => {
  const frames = await run(`export default { run({ $ }) { try { $.flow.exit("enough"); } catch {} return 1; } };`, workflow({}));
  assert.deepEqual(done(frames).exit, { reason: "enough" });
});

test("console output keeps order and level", async () => {
  const frames = await run(`export default { run() { console.log("a", 1); console.error("b"); process.stdout.write("c\\n"); } };`, source);
  assert.deepEqual(frames.filter((f) => f.t === "log").map((f) => [f.level, f.text]), [["log", "a 1"], ["error", "b"], ["log", "c"]]);
});

test("process.exit does not end the process, it throws", async () => {
  const frames = await run(`export default { run() { process.exit(0); } };`, source);
  assert.match(done(frames).error.message, /process\.exit/);
});

test("an error that nobody awaited fails its run", async () => {
  const code = `export default { async run() { setTimeout(() => { throw new EvalError("stray"); }, 1); await new Promise((r) => setTimeout(r, 1000)); } };`;
  const frames = await run(code, source);
  assert.equal(done(frames).error.code, "EvalError");
});

test("a buffer that memory does not suffice for names the limit", async () => {
  // More than a process can address.
  const frames = await run(`export default { run() { return new ArrayBuffer(2 ** 52).byteLength; } };`, source);
  const { code, message } = done(frames).error;
  assert.deepEqual([code, /^Array buffer allocation failed: .*`settings\.memory_mb`/.test(message)], ["RangeError", true], message);
});

test("a status outside 200 to 599 is refused", async () => {
  const frames = await run(`export default { props: { http: "$.interface.http" }, run() { this.http.respond({ status: 99 }); } };`, { ...source, props: { http: { endpoint: "http://x" } } });
  assert.match(done(frames).error.message, /200 to 599/);
});

test("describe expands shorthand and propDefinitions and marks functions", async () => {
  const code = `const app = { type: "app", app: "acme", propDefinitions: { id: { type: "string", label: "Id", async options() { return []; } } } };
    export default { name: "n", version: 1, props: { app, db: "$.service.db", id: { propDefinition: [app, "id"], optional: true } }, hooks: { async deploy() {}, created() {} }, run() {} };`;
  const frames = await run(code, { kind: "describe" });
  assert.deepEqual(done(frames).result.props, [
    { name: "app", type: "app", app: "acme" },
    { name: "db", type: "$.service.db" },
    { name: "id", type: "string", label: "Id", remoteOptions: true, optional: true },
  ]);
  assert.deepEqual([done(frames).result.version, done(frames).result.hooks, done(frames).result.unknown_hooks, done(frames).result.has_run], ["1", ["deploy"], ["created"], true]);
});
