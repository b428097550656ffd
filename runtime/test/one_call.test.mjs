// An isolate that serves one call at a time: what belongs to which call, and when the next one may begin.
import assert from "node:assert/strict";
import test from "node:test";

import { done, frameBytes, Host, result, source } from "./harness.mjs";

const one = (code) => Host.load({ m: code }, { one_call: true });

test("what a queue of an earlier call does belongs to the call that is under way", async () => {
  const code = `
    const jobs = []; let wake; let $emit;
    const pump = async () => { for (;;) { while (jobs.length) { const job = jobs.shift(); console.log("job " + job.n); job.done(); } await new Promise((r) => (wake = r)); } };
    export default { async run(event) {
      $emit ??= this.$emit; // of the first call
      if (event.n === 1) void pump();
      await new Promise((done) => { jobs.push({ n: event.n, done }); wake?.(); });
      $emit({ n: event.n });
      return event.n;
    } };`;
  const host = await one(code);
  for (const id of [1, 2, 3]) {
    const frames = await host.call(id, { ...source, event: { n: id } });
    assert.equal(result(frames), id);
    assert.deepEqual(frames.filter((f) => f.t === "log").map((f) => f.text), [`job ${id}`]);
    assert.deepEqual(frames.filter((f) => f.t === "emit").map((f) => f.event), [{ n: id }]);
    assert.equal(done(frames).left_running, undefined);
  }
  host.end();
});

test("an error in a callback of an emitter that an earlier call made fails the call under way; a rejection belongs to the call that made it", async () => {
  const code = `
    import { EventEmitter } from "node:events";
    import { AsyncResource } from "node:async_hooks";
    const bus = new EventEmitter(); let reject;
    export default { async run(event) {
      if (event === "first") {
        bus.on("x", AsyncResource.bind(() => { throw new RangeError("in the listener"); }));
        void new Promise((_, no) => (reject = no));
        return "ok";
      }
      if (event === "rejects") { reject(new TypeError("of the first")); await new Promise((r) => setTimeout(r, 5)); return "fine"; }
      setImmediate(() => bus.emit("x"));
      await new Promise(() => {});
    } };`;
  const host = await one(code);
  assert.equal(result(await host.call(1, { ...source, event: "first" })), "ok");
  assert.equal(result(await host.call(2, { ...source, event: "rejects" })), "fine");
  const late = host.frames.filter((f) => f.t === "log" && f.late);
  assert.deepEqual(late.map((f) => [f.id, /of the first/.test(f.text)]), [[1, true]]);
  const failed = done(await host.call(3, { ...source, event: "throws" }));
  assert.deepEqual([failed.ok, failed.error.message], [false, "in the listener"]);
  host.end();
});

test("the end of a call says where it left something running, and `quiet` says when that is over", async () => {
  const code = `export default { run(event) { if (event) setTimeout(() => console.log("later"), event); } };`;
  const host = await one(code);
  assert.equal(done(await host.call(1, { ...source, event: 0 })).left_running, undefined);
  assert.equal(done(await host.call(2, { ...source, event: 20 })).left_running, true);
  await host.until((f) => f.t === "quiet");
  const said = host.frames.findIndex((f) => f.t === "log" && f.id === 2 && f.late && f.text === "later");
  assert.ok(said >= 0 && said < host.frames.findIndex((f) => f.t === "quiet"), "what it left is said before");
  // What never ends does not hold the isolate for ever.
  assert.equal(done(await host.call(3, { ...source, event: 60_000 })).left_running, true);
  await host.until((f) => f.t === "quiet" && host.frames.indexOf(f) > host.frames.findIndex((g) => g.t === "done" && g.id === 3));
  assert.equal(done(await host.call(4, { ...source, event: 0 })).left_running, undefined, "it was there before");
  host.end();
});

test("a call begins with the `$.service.db` that it is given, whatever the call before left in memory", async () => {
  const code = `export default { props: { db: "$.service.db" }, run() { const n = this.db.get("n"); this.db.set("n", n + 1); return [n, this.db.get("n")]; } };`;
  const host = await one(code);
  assert.deepEqual(result(await host.call(1, { ...source, db: { n: 1 } })), [1, 2]);
  assert.deepEqual(result(await host.call(2, { ...source, db: { n: 10 } })), [10, 11]);
  host.end();
});

test("a call says once that it awaits; one that only computes, however long, does not", async () => {
  const code = `export default { async run(event) {
    if (event.awaits) await new Promise((r) => setTimeout(r, event.awaits));
    const end = Date.now() + (event.computes ?? 0); while (Date.now() < end);
  } };`;
  const host = await one(code);
  await host.call(1, { ...source, event: { computes: 40 } });
  await host.call(2, { ...source, event: {} });
  await host.call(3, { ...source, event: { awaits: 60 } });
  assert.deepEqual(host.frames.filter((f) => f.t === "awaits").map((f) => f.id), [3]);
  host.end();
});

test("calls that come while another is under way begin after it, one at a time, in no context of the one before", async () => {
  const code = `
    import { AsyncLocalStorage } from "node:async_hooks";
    const own = new AsyncLocalStorage(); let busy = 0;
    export default { async run(event) {
      const before = [busy++, own.getStore() ?? null];
      own.enterWith(event);
      await new Promise(setImmediate);
      busy--;
      if (event === "throws") throw new Error("mine");
      return before;
    } };`;
  const host = await one(code);
  ["first", "throws", "third"].forEach((event, n) => host.send({ t: "call", id: n + 1, deadline_ms: 5000, module: "m", props: {}, ...source, event }));
  await host.until((f) => f.t === "done" && f.id === 3);
  assert.deepEqual(host.frames.filter((f) => f.t === "done").map((f) => [f.id, f.ok, f.result]), [[1, true, [0, null]], [2, false, undefined], [3, true, [0, null]]]);
  host.end();
});

test("calls that have not begun are given back where the one under way awaits something or left something running, and where the server asks", async () => {
  const code = `export default { async run(event) {
    if (event === "awaits") await new Promise((r) => setTimeout(r, 200));
    if (event === "leaves") setTimeout(() => {}, 50);
    return event;
  } };`;
  const host = await one(code);
  const frame = (id, event) => ({ t: "call", id, deadline_ms: 5000, module: "m", props: {}, db: {}, ...source, event });
  const call = (id, event) => host.send(frame(id, event));
  const came = (t, id) => host.until((f) => f.t === t && (id === undefined || f.id === id));
  call(1, "awaits");
  call(2, "short");
  await came("back", 2);
  await came("done", 1);
  call(3, "leaves");
  call(4, "short");
  await came("back", 4);
  // Sent before the server knew.
  call(5, "short");
  await came("back", 5);
  await came("quiet");
  // Read at once, before the first of them has ended.
  const together = [frame(6, "short"), frame(7, "short"), frame(8, "short"), { t: "back", id: 7 }, { t: "back", id: 6 }];
  host.wire.write(Buffer.concat(together.map(frameBytes)));
  await came("done", 8);
  const seen = host.frames.filter((f) => f.id >= 6 && ["done", "back"].includes(f.t)).map((f) => [f.t, f.id]);
  assert.deepEqual(seen.sort((a, b) => a[1] - b[1]), [["done", 6], ["back", 7], ["done", 8]]);
  assert.deepEqual(host.frames.filter((f) => f.t === "done" && !f.ok), []);
  host.end();
});
