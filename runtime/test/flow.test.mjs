// `$.flow`, `$.context` and `$.send` as far as the host alone goes (spec 2.9, reference 4).
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, finished, Host, result, run, workflow } from "./harness.mjs";

const YEAR = 365 * 24 * 3600 * 1000;
const urls = { resume_url: "https://r", cancel_url: "https://c" };
const two = { steps: ["one", "two"].map((namespace) => ({ namespace, module: "m", props: {}, disabled: false })), flow: urls };
const step = (body) => `export default { async run({ $, steps }) { ${body} } };`;
const sends = (frames) => frames.filter((f) => f.t === "send").map((f) => [f.kind, f.payload]);

test("delay pauses after the step, which is finished", async () => {
  const frames = await run(step(`$.export("a", 1); const u = await $.flow.delay(5000); console.log("goes on"); return u;`), workflow({}, two));
  assert.deepEqual(finished(frames).exports, { a: 1, $return_value: urls });
  const end = done(frames);
  assert.deepEqual([end.ok, end.result, { ...end.paused, duration_ms: 0 }], [true, null, { namespace: "one", kind: "delay", ms: 5000, duration_ms: 0 }]);
  assert.deepEqual(frames.filter((f) => f.t === "step").map((f) => [f.namespace, f.state]), [["one", "finished"]]);
});

test("suspend gives its addresses at once and waits for a day where no time is given", async () => {
  const frames = await run(step(`const { resume_url, cancel_url } = $.flow.suspend(); return [resume_url, cancel_url];`), workflow({}, two));
  assert.deepEqual(finished(frames).exports.$return_value, ["https://r", "https://c"]);
  assert.equal(done(frames).paused.ms, 24 * 3600 * 1000);
});

test("rerun leaves the step unfinished and tells what its next run is told", async () => {
  const frames = await run(step(`$.export("x", 1); const ctx = { n: 1 }; $.flow.rerun(1000, ctx); ctx.n = 2; return "so far";`), workflow({}, two));
  assert.equal(finished(frames), undefined);
  const { duration_ms, ...paused } = done(frames).paused;
  assert.equal(typeof duration_ms, "number");
  assert.deepEqual(paused, { namespace: "one", kind: "rerun", ms: 1000, run: { runs: 2, context: { n: 1 } }, exports: { x: 1, $return_value: "so far" } });
});

test("a resumed step is told its run; others are in their first", async () => {
  const code = step(`return $.context.run;`);
  const resume = { namespace: "two", run: { runs: 3, context: { n: 1 }, callback_request: { method: "POST", body: { a: 1 } } } };
  const frames = await run(code, workflow({}, { ...two, resume, results: { one: { $return_value: "kept" } } }));
  assert.equal(frames.some((f) => f.namespace === "one"), false);
  assert.deepEqual(finished(frames, "two").exports.$return_value, resume.run);
  assert.deepEqual(finished(await run(code, workflow({}, { ...two, resume }))).exports.$return_value, { runs: 1 });
});

test("what a resume brought is among the results of the suspended step", async () => {
  const frames = await run(step(`return steps.one.$resume_data.body`), workflow({}, { ...two, results: { one: { $resume_data: { body: { ok: 1 } } } } }));
  assert.deepEqual(finished(frames, "two").exports.$return_value, { ok: 1 });
});

test("after its last retry a rerun does nothing, and the workflow goes on", async () => {
  const code = step(`if (steps.one) return "two"; $.flow.rerun(1, null, 2); return "one";`);
  const resumed = (runs) => run(code, workflow({}, { ...two, resume: { namespace: "one", run: { runs } } }));
  assert.deepEqual(done(await resumed(2)).paused.run, { runs: 3, context: null });
  const last = await resumed(3);
  assert.equal(done(last).paused, undefined);
  assert.equal(finished(last, "two").exports.$return_value, "two");
});

test("the last pause asked for counts; exit counts more, and so does an error", async () => {
  assert.equal(done(await run(step(`$.flow.delay(1); $.flow.suspend(2);`), workflow({}, two))).paused.kind, "suspend");
  const ended = done(await run(step(`$.flow.delay(1); return $.flow.exit("enough");`), workflow({}, two)));
  assert.deepEqual([ended.paused, ended.exit], [undefined, { reason: "enough" }]);
  assert.equal(done(await run(step(`$.flow.delay(1); throw new Error("x");`), workflow({}, two))).ok, false);
});

test("in a test run nothing pauses, and the run says so", async () => {
  const frames = await run(step(`$.flow.suspend(); return 1;`), workflow({}, { ...two, test: true }));
  assert.equal(done(frames).paused, undefined);
  assert.match(frames.find((f) => f.t === "log").text, /\$\.flow\.suspend\(\) was called in the step `one`: a test run does not pause/);
  assert.equal(finished(frames, "two").exports.$return_value, 1);
});

test("times and retries that are none are refused", async () => {
  for (const bad of [`delay()`, `delay(0)`, `delay("soon")`, `delay(${YEAR + 1})`, `suspend(-1)`, `rerun(NaN)`]) {
    assert.match(done(await run(step(`$.flow.${bad}`), workflow({}))).error.message, /the time is a number of milliseconds from \d to \d+ \(a year\); got/, bad);
  }
  assert.match(done(await run(step(`$.flow.rerun(1, {}, -1)`), workflow({}))).error.message, /number of retries/);
  assert.match(done(await run(step(`const c = {}; c.c = c; $.flow.rerun(1, c)`), workflow({}))).error.message, /context given to \$\.flow\.rerun/);
});

test("exit ends the workflow, also un-awaited and through the platform's $end", async () => {
  for (const code of [step(`(async () => $.flow.exit("why"))(); return 1;`), step(`const e = new Error("x"); e.__pd_end = { message: "why" }; throw e;`), step(`return $.flow.exit("why")`)]) {
    const frames = await run(code, workflow({}, two));
    assert.deepEqual([done(frames).ok, done(frames).exit, finished(frames, "two")], [true, { reason: "why" }, undefined]);
  }
  assert.deepEqual(done(await run(step(`$.flow.exit()`), workflow({}))).exit, { reason: "" });
});

test("trigger asks the server, and a refusal is an error in the code", async () => {
  const host = await Host.load({ m: step(`try { return await $.flow.trigger("p_1", { a: 1 }); } catch (e) { return [e.name, e.message]; }`) });
  const answering = async (id, answer) => {
    const ended = host.call(id, workflow({}));
    const ask = await host.until((f) => f.t === "ask" && f.id === id);
    host.send({ t: "answer", id, ask: ask.ask, ...answer });
    return [ask, finished(await ended).exports.$return_value];
  };
  const [ask, given] = await answering(1, { ok: true, value: { id: "run" } });
  assert.deepEqual([ask.kind, ask.payload, given], ["flow.trigger", { workflow_id: "p_1", event: { a: 1 } }, { id: "run" }]);
  assert.deepEqual((await answering(2, { ok: false, error: { code: "NotFound", message: "there is no workflow `p_1`" } }))[1], ["NotFound", "there is no workflow `p_1`"]);
  host.end();
});

test("$.context is the trigger's, the deadline, whether it is a test, and the run; each step has its own copy", async () => {
  const code = step(`const seen = { ...$.context, later: $.context.deadline > Date.now(), deadline: typeof $.context.deadline }; $.context.id = "changed"; return seen;`);
  const frames = await run(code, workflow({}, { ...two, trigger: { event: {}, context: { id: "t", trace_id: "tr" } }, context: { owner_id: "o" } }));
  const expected = { id: "t", trace_id: "tr", owner_id: "o", deadline: "number", later: true, JIT: false, test: false, run: { runs: 1 } };
  assert.deepEqual(finished(frames).exports.$return_value, expected);
  assert.deepEqual(finished(frames, "two").exports.$return_value, expected);
});

test("an action of its own has $ without a workflow around it", async () => {
  const code = `export default { props: { n: "integer" }, async run({ $ }) { $.export("$summary", "s"); let why; try { $.flow.suspend(); } catch (e) { why = e.message; } return [this.n, $.context.run, why]; } };`;
  const got = result(await run(code, { kind: "action", props: { n: 1 } }));
  assert.deepEqual([got.$summary, got.$return_value.slice(0, 2)], ["s", [1, { runs: 1 }]]);
  assert.match(got.$return_value[2], /runs outside of one/);
});

test("$.send takes each destination, in order, un-awaited, and before a throw", async () => {
  const frames = await run(step(`$.send.http({ url: "https://x", data: { a: 1 } }); $.send.email({ subject: "s", text: "t" }); $.send.s3({ bucket: "b", prefix: "p", payload: "x" });
    $.send.sse({ channel: "c", payload: { a: 1 } }); $.send.emit({ raw_event: { b: 1 }, name: "n" }); await $.send.emit({ c: 1 }, "chan"); $.send.emit({ d: 1 }); throw new Error("x");`), workflow({}));
  assert.deepEqual(sends(frames), [
    ["http", { method: "GET", url: "https://x", data: { a: 1 } }], ["email", { subject: "s", text: "t" }], ["s3", { bucket: "b", prefix: "p", payload: "x" }],
    ["sse", { channel: "c", payload: { a: 1 } }], ["emit", { raw_event: { b: 1 }, name: "n" }], ["emit", { raw_event: { c: 1 }, name: "chan" }], ["emit", { raw_event: { d: 1 } }],
  ]);
  assert.equal(done(frames).ok, false);
});

test("$.send.http sends the headers of a Headers and of a Map, which JSON has not", async () => {
  const forms = [`new Headers({ "X-A": "1" })`, `new Map([["X-A", "1"]])`];
  const frames = await run(step(forms.map((headers) => `$.send.http({ url: "https://x", headers: ${headers} });`).join(" ")), workflow({}));
  assert.deepEqual(sends(frames).map(([, { headers }]) => headers), forms.map(() => ({ "x-a": ["1"] })));
});

test("what $.send cannot deliver is refused where it is said", async () => {
  const bad = {
    [`http({ url: "x" })`]: /for url; it is an http or https address/,
    [`http({ url: "ftp://x" })`]: /for url/,
    [`http({ method: "get", url: "http://x" })`]: /\$send\.http: invalid value get for method/,
    [`http()`]: /\$send\.http: invalid value undefined/,
    [`email({ subject: "s" })`]: /`text` or `html` is needed/,
    [`email({ text: "s" })`]: /for subject/,
    [`s3({ bucket: "b", payload: "x" })`]: /for prefix/,
    [`sse({ payload: 1 })`]: /for channel/,
    [`emit({ raw_event: "no" })`]: /for raw_event/,
    [`sms("x")`]: /not available/,
  };
  const host = await Host.load({ m: step(`await new Function("$", "return $.send." + steps.trigger.event.code)($)`) });
  let id = 0;
  for (const [code, message] of Object.entries(bad)) {
    const frames = await host.call(++id, workflow({}, { trigger: { event: { code }, context: {} } }));
    assert.match(done(frames).error.message, message, code);
    assert.deepEqual(sends(frames), []);
  }
  host.end();
});
