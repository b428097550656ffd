// What sources do beside returning: emits, db writes, responses, output, errors of what nobody awaited.
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, finished, Host, result, run, source, workflow } from "./harness.mjs";

const emits = (frames) => frames.filter((f) => f.t === "emit");
const logs = (frames) => frames.filter((f) => f.t === "log").map((f) => [f.level, f.text]);
const http = { http: { endpoint: "https://e" } };

test("$emit works in run, methods and hooks, awaited or not, and after an await", async () => {
  const code = `export default { methods: { send(id) { this.$emit({ id }, { id }); } }, hooks: { async activate() { this.send(9); await null; this.$emit({}, { id: 10 }); } },
    async run() { this.send(1); await this.$emit({ id: 2 }, { id: "2" }); await new Promise((r) => setTimeout(r, 2)); this.$emit({ id: 3 }, { id: 3 }); const { $emit } = this; $emit({}, { id: 4 }); } };`;
  const host = await Host.load({ m: code });
  assert.deepEqual(emits(await host.call(1, source)).map((f) => f.meta.id), [1, "2", 3, 4]);
  assert.deepEqual(emits(await host.call(2, { ...source, hook: "activate" })).map((f) => f.meta.id), [9, 10]);
  host.end();
});

test("$emit takes any metadata: delivery_ts, seconds, NaN, none, big integers; and no event", async () => {
  const code = `export default { run() { this.$emit({ a: 1 }, { id: 1, name: "self", summary: "s", ts: 5, delivery_ts: 99 }); this.$emit({}, { ts: NaN, id: undefined }); this.$emit(); this.$emit(null); this.$emit("text", { id: 7n }); } };`;
  assert.deepEqual(emits(await run(code, source)).map((f) => ["event" in f ? f.event : "absent", f.meta]), [
    [{ a: 1 }, { id: 1, name: "self", summary: "s", ts: 5, delivery_ts: 99 }], [{}, { ts: null }], ["absent", {}], [null, {}], ["text", { id: "7" }],
  ]);
});

test("emits before a throw are kept, also those of hooks", async () => {
  const frames = await run(`export default { hooks: { deploy() { this.$emit({}, { id: 1 }); throw new Error("no"); } }, run() {} };`, { ...source, hook: "deploy" });
  assert.equal(emits(frames).length, 1);
  assert.equal(done(frames).error.message, "no");
});

test("an event is what it was when it was emitted", async () => {
  const frames = await run(`export default { run() { const o = { n: 1 }; this.$emit(o, { id: 1 }); o.n = 2; } };`, source);
  assert.deepEqual(emits(frames)[0].event, { n: 1 });
});

test("a source that listens to itself gets the emitted event as its event", async () => {
  const event = { $channel: "self", $id: "1", task: { a: 1 } };
  const code = `export default { run(event) { if (event.$channel === "self") this.$emit(event.task, { id: event.$id, name: "" }); } };`;
  assert.deepEqual(emits(await run(code, { ...source, event }))[0].meta, { id: "1", name: "" });
});

test("hooks, run and options methods share the context", async () => {
  const app = `const app = { type: "app", app: "acme", methods: { name() { return "app " + this.$auth.key; } } };`;
  const code = `${app} const common = { props: { app, db: "$.service.db" }, methods: { get() { return this.who() + " " + this.db.get("n"); }, who() { return "base"; } }, hooks: { activate() { return this.get(); } } };
    export default { ...common, props: { ...common.props, p: { type: "string", options() { return [this.get(), this.app.name()]; } } }, methods: { ...common.methods, who() { return "own " + common.methods.who.call(this); } },
      run() { return [this.get(), this.app.name()]; } };`;
  const host = await Host.load({ m: code }, { db: { n: 1 } });
  const props = { app: { $auth: { key: "k" } } };
  assert.deepEqual(result(await host.call(1, { ...source, props })), ["own base 1", "app k"]);
  assert.equal(result(await host.call(2, { ...source, props, hook: "activate" })), "own base 1");
  assert.deepEqual(result(await host.call(3, { kind: "options", prop: "p", props, db: { n: 1 } })).options.map((o) => o.value), ["own base 1", "app k"]);
  host.end();
});

test("db gives a fresh copy each time, and clears with null and undefined", async () => {
  const code = `export default { props: { db: "$.service.db" }, async run() { const o = this.db.get("o"); o.n = 5; this.db.set("k", null); this.db.set("o2", o); o.n = 6; this.db.set("gone", undefined);
    return [this.db.get("o"), await this.db.get("k"), this.db.get("o2"), typeof this.db.get("gone"), (await this.db.set("x", 1)) === undefined, this.db.get("x")]; } };`;
  const frames = await run(code, source, { db: { o: { n: 1 }, gone: 1 } });
  assert.deepEqual(result(frames), [{ n: 1 }, null, { n: 5 }, "undefined", true, 1]);
  assert.deepEqual(frames.filter((f) => f.t === "db").map((f) => [f.key, "value" in f ? f.value : "deleted"]), [["k", null], ["o2", { n: 5 }], ["gone", "deleted"], ["x", 1]]);
});

test("what is done after the end of a run goes nowhere, and is said", async () => {
  const code = `export default { props: { db: "$.service.db" }, run(event) { if (event.look) return this.db.get("late"); setTimeout(() => { this.db.set("late", 1); this.$emit({}, { id: 1 }); console.log("still here"); }, 2); } };`;
  const host = await Host.load({ m: code }, { db: {} });
  await host.call(1, source);
  await host.until((f) => f.late && f.text === "still here");
  const late = host.frames.filter((f) => f.late);
  assert.deepEqual(late.map((f) => [f.id, f.level]), [[1, "warn"], [1, "warn"], [1, "log"]]);
  assert.match(late[0].text, /`late` was set after the run had ended/);
  assert.equal(host.frames.some((f) => f.t === "db" || f.t === "emit"), false);
  assert.equal(result(await host.call(2, { ...source, event: { look: true } })), null);
  host.end();
});

test("respond takes a status as text, headers without a value, and each kind of body", async () => {
  const code = `export default { props: { http: "$.interface.http" }, run() { const { respond } = this.http; respond({ status: "202", headers: { A: undefined, B: 1, C: ["x", "y"] }, body: Buffer.from([255]) });
    respond({ body: { a: 1 } }); respond({ body: "s" }); respond(); } };`;
  const frames = await run(code, { ...source, props: http });
  assert.deepEqual(frames.filter((f) => f.t === "respond").map(({ status, headers, body, encoding }) => [status, headers, body, encoding]), [
    [202, [["b", "1"], ["c", "x"], ["c", "y"]], "/w==", "base64"], [200, [["content-type", "application/json; charset=utf-8"]], '{"a":1}', "utf8"], [200, [], "s", "utf8"], [200, [], "", "utf8"],
  ]);
});

test("a status that no client would take for an answer is refused where respond is called", async () => {
  const code = `export default { props: { http: "$.interface.http" }, run({ status }) { this.http.respond({ status }); } };`;
  for (const status of [0, 99, 100, 101, 199, 600, 200.5, "x"]) {
    const frames = await run(code, { ...source, props: http, event: { status } });
    assert.equal(done(frames).error.message, `respond: the status ${status} is not an integer from 200 to 599`);
    const shown = typeof status === "number" ? `the status ${status}` : "a status that is no number";
    const answers = frames.filter((f) => f.t === "respond").map(({ status, body }) => [status, body]);
    assert.deepEqual(answers, [[500, `The source called this.http.respond() with ${shown}; allowed are integers from 200 to 599`]]);
  }
});

test("a status that is refused makes no answer where the code gives another", async () => {
  for (const code of ["answer(201); try { answer(100); } catch {}", "try { answer(100); } catch {} answer(201);"]) {
    const frames = await run(`export default { props: { http: "$.interface.http" }, run() { const answer = (status) => this.http.respond({ status }); ${code} } };`, { ...source, props: http });
    assert.deepEqual(frames.filter((f) => f.t === "respond").map((f) => f.status), [201], code);
  }
});

test("headers of an answer come in each form that HTTP clients have, one line of a header that has one value, and what is no form is refused", async () => {
  const code = `export default { props: { http: "$.interface.http" }, run() { this.http.respond({ headers: ~ }); } };`;
  const ask = (headers) => run(code.replace("~", () => headers), { ...source, props: http });
  const ab = [["x-a", "1"], ["x-b", "2"]];
  const cases = [
    [`["X-A", "1", "X-B", 2]`, ab], [`[["X-A", "1"], ["X-B", 2]]`, ab], [`new Map([["X-A", "1"], ["X-B", 2]])`, ab], [`new Headers({ "X-A": 1, "X-B": 2 })`, ab], [`{ "X-A": "1", "X-B": 2 }`, ab],
    [`null`, []], [`[]`, []], [`["X-A", undefined, "X-B", ["2", "3"]]`, [["x-b", "2"], ["x-b", "3"]]],
    [`{ "content-type": "a", "Content-Type": "b" }`, [["content-type", "b"]]], [`{ "x-a": "0", "X-A": "1" }`, [["x-a", "1"]]], [`{ "Content-Type": ["a", "b"], Location: ["/a", "/b"] }`, [["content-type", "b"], ["location", "/b"]]],
    [`["Content-Type", "a", "content-type", "b"]`, [["content-type", "b"]]], [`[["ETag", "a"], ["Vary", "x"], ["etag", "b"], ["vary", "y"]]`, [["etag", "b"], ["vary", "x"], ["vary", "y"]]],
    [`{ "Set-Cookie": ["a=1", "b=2"], Link: ["</a>", "</b>"] }`, [["set-cookie", "a=1"], ["set-cookie", "b=2"], ["link", "</a>"], ["link", "</b>"]]],
    [`Object.assign(new Headers([["Set-Cookie", "a=1"], ["Set-Cookie", "b=2"]]))`, [["set-cookie", "a=1"], ["set-cookie", "b=2"]]],
  ];
  for (const [headers, lines] of cases) assert.deepEqual((await ask(headers)).find((f) => f.t === "respond").headers, lines, headers);
  for (const [headers, kind] of [[`"X-A: s3cret"`, "a string"], [`5`, "a number"], [`[{ name: "X-A", value: "1" }]`, "a list of something else"], [`["X-A", "1", "X-B"]`, "a list of something else"], [`[["X-A"]]`, "a list of something else"], [`Buffer.from("X-A: 1")`, "a list of something else"]]) {
    const frames = await ask(headers);
    assert.equal(frames.some((f) => f.t === "respond"), false, headers);
    assert.ok(done(frames).error.message.startsWith(`respond: the headers are ${kind}; allowed are an object, a \`Headers\``), headers);
  }
});

test("a response before a throw is sent", async () => {
  const frames = await run(`export default { props: { http: "$.interface.http" }, run() { this.http.respond({ status: 200 }); throw new Error("x"); } };`, { ...source, props: http });
  assert.deepEqual(frames.map((f) => f.t), ["respond", "done"]);
});

test("a header that HTTP cannot send is named in the log, without its value", async () => {
  const headers = `{ "x-good": "caf\u00e9\t1", "x-split": "s3cret\\r\\nx-b: 2", "x nul": "1", "x-zero": "\\0", "": "1", "x\u00e9": "1" }`;
  const frames = await run(`export default { props: { http: "$.interface.http" }, run() { this.http.respond({ headers: ${headers}, body: "x" }); } };`, { ...source, props: http });
  const warned = frames.filter((f) => f.t === "log" && f.level === "warn").map((f) => f.text);
  assert.deepEqual(warned.map((text) => /the header (".*") is not sent/.exec(text)?.[1]), [`"x-split"`, `"x nul"`, `"x-zero"`, `""`, `"x\u00e9"`]);
  assert.doesNotMatch(warned.join(), /s3cret/);
});

test("$.respond takes Buffers and streams, awaited or not", async () => {
  const code = `import { Readable } from "node:stream"; export default { async run({ $, steps }) { const { kind } = steps.trigger.event;
    if (kind === "stream") await $.respond({ body: Readable.from(["a", Buffer.from("b")]) }); else if (kind === "web") $.respond({ body: new Blob(["w"]).stream() });
    else if (kind === "broken") await $.respond({ body: new Readable({ read() { this.destroy(new RangeError("cut off")); } }) });
    else if (kind === "objects") await $.respond({ body: Readable.from([{ no: 1 }]) });
    else if (kind === "immediate") $.respond({ immediate: true, body: Readable.from(["a"]) }); else $.respond({ status: 201, body: new Uint16Array([1]), immediate: true }); } };`;
  const host = await Host.load({ m: code });
  let id = 0;
  const ask = (kind) => host.call(++id, { ...workflow({}), trigger: { event: { kind }, context: {} } });
  const respond = async (kind) => (await ask(kind)).find((f) => f.t === "respond");
  assert.deepEqual([(await respond("stream")).body, (await respond("web")).body], ["YWI=", "dw=="]);
  assert.deepEqual(await respond("buffer"), { t: "respond", status: 201, headers: [], body: "AQA=", encoding: "base64", immediate: true, id: 3 });
  assert.equal(done(await ask("broken")).error.message, "cut off");
  assert.match(done(await ask("objects")).error.message, /a chunk of the stream is an object/);
  assert.match(done(await ask("immediate")).error.message, /stream cannot be sent with `immediate: true`/);
  host.end();
});

test("a response that is larger than a frame may be is a clear error, and the host lives on", async () => {
  const code = `export default { props: { http: "$.interface.http" }, run(event) { if (event.big) this.http.respond({ body: "x".repeat(17 * 1024 * 1024) }); return 1; } };`;
  const host = await Host.load({ m: code });
  assert.match(done(await host.call(1, { ...source, props: http, event: { big: true } })).error.message, /\d+ bytes.*allowed are/);
  assert.equal(result(await host.call(2, { ...source, props: http })), 1);
  host.end();
});

test("console keeps order and level, in all its methods", async () => {
  const code = `export default { run() { console.log("a %s", "b", { c: 1 }); console.info("i"); console.warn("w"); console.error(new RangeError("e").message); console.debug("d"); process.stdout.write("out\\n"); process.stderr.write(Buffer.from("err"));
    console.group("g"); console.log("in\\nside"); console.group(); console.log("deep"); console.groupEnd(); console.groupEnd(); console.log("outside"); console.dir({ a: 1 }); console.assert(1 === 2, "wrong"); console.count("n"); console.table([1]); console.log(); console.trace("t"); } };`;
  const got = logs(await run(code, source));
  assert.deepEqual(got.slice(0, 14), [
    ["log", "a b { c: 1 }"], ["info", "i"], ["warn", "w"], ["error", "e"], ["debug", "d"], ["log", "out"], ["error", "err"],
    ["log", "g"], ["log", "  in\n  side"], ["log", "    deep"], ["log", "outside"], ["log", "{ a: 1 }"], ["warn", "Assertion failed: wrong"], ["log", "n: 1"],
  ]);
  assert.match(got[14][1], /index/);
  assert.deepEqual(got[15], ["log", ""]);
  assert.match(got[16][1], /^Trace: t\n\s+at .*m\.mjs/);
});

test("output of calls at once goes to each its own", async () => {
  const host = await Host.load({ m: `export default { async run({ n }) { for (let i = 0; i < 3; i++) { console.log(n + i); await new Promise((r) => setTimeout(r, 1)); } } };` });
  const all = await Promise.all(["a", "b"].map((n, i) => host.call(i + 1, { ...source, event: { n } })));
  assert.deepEqual(all.map((frames) => logs(frames).map(([, text]) => text)), [["a0", "a1", "a2"], ["b0", "b1", "b2"]]);
  host.end();
});

test("a rejection that nobody awaits fails its run, and no other", async () => {
  const code = `export default { async run(event) { if (event.bad) { Promise.reject(new EvalError("stray")); return 1; } await new Promise((r) => setTimeout(r, 20)); return 2; } };`;
  const host = await Host.load({ m: code });
  const good = host.call(1, source);
  assert.equal(done(await host.call(2, { ...source, event: { bad: true } })).error.code, "EvalError");
  assert.equal(result(await good), 2);
  host.end();
});

test("what fails after the end of its run is a late line of that run", async () => {
  const code = `export default { run(event) { if (event.bad) setTimeout(() => { throw new EvalError("late one"); }, 3); return 1; } };`;
  const host = await Host.load({ m: code });
  assert.equal(result(await host.call(1, { ...source, event: { bad: true } })), 1);
  await host.call(2, source);
  const late = await host.until((f) => f.late);
  assert.deepEqual([late.t, late.id, late.level], ["log", 1, "error"]);
  assert.match(late.text, /after the end of the run, in what it did not await: EvalError: late one\n\s+at .*m\.mjs/);
  host.end();
});

test("late lines are bounded", async () => {
  const code = `export default { run(event) { if (event.talk) setTimeout(() => { for (let i = 0; i < 1000; i++) console.log(i); }, 2); } };`;
  const host = await Host.load({ m: code });
  await host.call(1, { ...source, event: { talk: true } });
  await host.until((f) => f.late && f.text === "99");
  await host.call(2, source);
  assert.equal(host.frames.filter((f) => f.late).length, 100);
  host.end();
});

test("an error of an earlier step that nobody awaited names that step, and no further step starts", async () => {
  const one = `export default { run() { setTimeout(() => { throw new EvalError("from one"); }, 2); } };`;
  const two = `export default { async run() { await new Promise((r) => setTimeout(r, 30)); } };`;
  const host = await Host.load({ one, two, three: `export default { run() { console.log("never"); } };` });
  const steps = ["one", "two", "three"].map((name) => ({ namespace: name, module: name, props: {}, disabled: false }));
  const frames = await host.call(1, { ...workflow({}), steps });
  assert.deepEqual([done(frames).namespace, done(frames).error.code], ["one", "EvalError"]);
  await new Promise((resolve) => setTimeout(resolve, 60));
  assert.equal(host.frames.some((f) => f.text === "never" || f.namespace === "three"), false);
  host.end();
});

test("a cancelled workflow starts no further step", async () => {
  const host = await Host.load({ m: `export default { async run() { console.log("waits"); await new Promise((r) => setTimeout(r, 100)); console.log("ran"); } };` });
  const steps = ["one", "two"].map((namespace) => ({ namespace, module: "m", props: {}, disabled: false }));
  host.send({ t: "call", id: 1, deadline_ms: 5000, ...workflow({}), steps });
  await host.until((f) => f.text === "waits");
  host.send({ t: "cancel", id: 1 });
  await host.until((f) => f.t === "cancelled" && f.id === 1);
  await host.until((f) => f.late && f.text === "ran");
  await new Promise((resolve) => setTimeout(resolve, 30));
  assert.equal(host.frames.filter((f) => f.text === "ran" || f.state === "started").length, 1);
  host.end();
});

test("the stack tells the author's file and line, and nothing of the host", async () => {
  const { error } = done(await run(`export default {\n  run() {\n    throw new TypeError("x");\n  } };`, source));
  assert.match(error.stack, /^TypeError: x\n\s+at .*m\.mjs:3:11\)?/);
  assert.match(error.stack, /\n {8}3 \| {5}throw new TypeError\("x"\);/);
  assert.doesNotMatch(error.stack, /host\.mjs/);
});

test("the line that is shown is the author's, not that of what the author called", async () => {
  const code = `import { once } from "node:events";\nexport default {\n  async run() {\n    await once(null, "x");\n  } };`;
  const { error } = done(await run(code, source));
  assert.match(error.stack, /4 \| {5}await once\(null, "x"\);/);
});

test("whatever is thrown has a code, a message and a stack", async () => {
  const host = await Host.load({ m: `class Own extends Error {} const e = new Error("no stack"); delete e.stack; const t = () => { throw new Error("hostile"); };
    const all = [new Own("m"), "text", undefined, null, 5, { message: "like", name: "Odd" }, e, Object.create(null), { toString: t, get message() { return t(); } }, 7n, Symbol("s"), new AggregateError([], "agg")];
    export default { run({ i }) { throw all[i]; } };` });
  const seen = [];
  for (let i = 0; i < 12; i++) {
    const { ok, error } = done(await host.call(i + 1, { ...source, event: { i } }));
    assert.equal(ok, false);
    for (const field of ["code", "name", "message", "stack"]) assert.equal(typeof error[field], "string", `${i} ${field}`);
    seen.push(error.code);
  }
  assert.deepEqual(seen.slice(0, 3).concat(seen[5], seen[11]), ["Own", "Error", "Error", "Odd", "AggregateError"]);
  host.end();
});

test("a step's result is what was returned, also where something is left out of JSON", async () => {
  const code = `export default { run({ $ }) { const o = { a: 1, f() {}, d: new Date(0) }; $.export("x", o); o.a = 2; $.export("gone", undefined); $.export("fn", { f() {} }); return o; } };`;
  assert.deepEqual(finished(await run(code, workflow({}))).exports, { x: { a: 1, d: "1970-01-01T00:00:00.000Z" }, fn: {}, $return_value: { a: 2, d: "1970-01-01T00:00:00.000Z" } });
});

test("an export or a result that is no JSON is an error that names it", async () => {
  assert.match(done(await run(`export default { run({ $ }) { $.export("big", 5n); } };`, workflow({}))).error.message, /the export `big` of the step `one` is not JSON-serializable/);
  assert.match(done(await run(`export default { run() { const a = []; a.push(a); return a; } };`, workflow({}))).error.message, /the value returned by the step `one` is not JSON-serializable/);
});

test("a result that is larger than a frame may be is its step's error", async () => {
  const host = await Host.load({ m: `export default { run() { return "x".repeat(17 * 1024 * 1024); } };` });
  const steps = ["one", "two"].map((namespace) => ({ namespace, module: "m", props: {}, disabled: false }));
  const end = done(await host.call(1, { ...workflow({}), steps }));
  assert.deepEqual([end.error.code, end.namespace], ["RangeError", "one"]);
  assert.match(done(await host.call(2, { kind: "action" })).error.message, /allowed are/);
  host.end();
});

test("what a step writes is there when it blocks the event loop right after", async () => {
  const code = `export default { props: { db: "$.service.db" }, run({ $ }) { if ($) { console.log("before"); $.send.sse({ channel: "c", payload: 1 }); } else { this.db.set("a", 1); this.$emit({}, { id: 1 }); } for (;;); } };`;
  for (const [call, expected] of [[workflow({}), ["log", "send"]], [source, ["db", "emit"]]]) {
    const host = await Host.load({ m: code }, { db: {} });
    host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...call });
    await host.until((f) => f.t === expected.at(-1));
    assert.deepEqual(host.frames.filter((f) => f.id === 1).map((f) => f.t), expected);
    host.end();
  }
});
