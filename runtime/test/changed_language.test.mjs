// Code that changes what all objects inherit, as old libraries do: the frames of its runs are those of the protocol all the same.
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, finished, Host, source, workflow } from "./harness.mjs";

const STEP = (change) => `export default { async run({ steps, $ }) { ${change}
  const { what } = steps.trigger.event;
  if (what === "throw") throw new TypeError("thrown");
  if (what === "respond") return void (await $.respond({ status: 201, headers: { a: "b" }, body: "text" }));
  if (what === "exit") $.flow.exit("enough");
  if (what === "rerun") return $.flow.rerun(1000);
  $.export("n", 1); return "returned"; } };`;

/** The frames of a run that changes the language, by what it does then. */
async function framesOf(change) {
  const all = ["return", "throw", "respond", "exit", "rerun", "emit"].map(async (what) => {
    const host = await Host.load({ m: STEP(change), s: `export default { run() { ${change} this.$emit("text"); return 1; } };` });
    try {
      const call = what === "emit" ? { ...source, module: "s" } : workflow({}, { trigger: { event: { what }, context: { id: "t" } } });
      return [what, await host.call(1, call)];
    } finally {
      host.end();
    }
  });
  return Object.fromEntries(await Promise.all(all));
}

const TO_JSON = {
  "all objects": `Object.defineProperty(Object.prototype, "toJSON", { value() { return "changed"; } });`,
  "all objects, where every loop finds it": `Object.prototype.toJSON = function () { return "changed"; };`,
  arrays: `Array.prototype.toJSON = function () { return "changed"; };`,
};

for (const [whose, change] of Object.entries(TO_JSON)) {
  test(`a toJSON of ${whose} changes no frame`, async () => {
    const frames = await framesOf(change);
    assert.deepEqual(finished(frames.return).exports, { n: 1, $return_value: "returned" });
    const { ok, error, namespace } = done(frames.throw);
    assert.deepEqual([ok, error.code, error.message, namespace], [false, "TypeError", "thrown", "one"]);
    const answer = { t: "respond", status: 201, headers: [["a", "b"]], body: "text", encoding: "utf8", immediate: false, id: 1 };
    assert.deepEqual(frames.respond.find((frame) => frame.t === "respond"), answer);
    assert.deepEqual(done(frames.exit).exit, { reason: "enough" });
    const { namespace: paused, kind, ms, run } = done(frames.rerun).paused;
    assert.deepEqual([paused, kind, ms, run], ["one", "rerun", 1000, { runs: 2, context: null }]);
    assert.deepEqual(frames.emit.find((frame) => frame.t === "emit"), { id: 1, t: "emit", event: "text", meta: {} });
  });
}

test("a run that replaces the iterator of arrays ends, if only with an error of its own", async () => {
  const frames = await framesOf(`Array.prototype[Symbol.iterator] = function* () { yield "changed"; };`);
  for (const [what, of] of Object.entries(frames)) {
    const { ok, error } = done(of);
    assert.ok(ok || typeof error.message === "string", what);
  }
});

/** What a host answers to a call: its `done` frame, or the code with which it exited. */
async function endOf(host, id, call) {
  host.send({ t: "call", id, deadline_ms: 5000, module: "m", props: {}, ...call });
  return Promise.race([host.until((frame) => frame.t === "done" && frame.id === id), host.exited]);
}

const REPLACED = [
  "Function.prototype.apply", "Function.prototype.call", "Promise.prototype.then", "Array.prototype.push", "Array.prototype.pop", "Array.prototype.shift", "JSON.stringify", "Buffer.from", "Buffer.prototype.toString", "Buffer.prototype.utf8Slice",
  "Buffer.prototype.readUInt32LE", "process.nextTick", "globalThis.Set", "Map.prototype.set", "Map.prototype.delete", "AsyncLocalStorage.prototype.run", "AsyncResource.prototype.runInAsyncScope", "Socket.prototype._unrefTimer",
];

test("a built-in function that code replaces with one that throws leaves no call without an end: it ends, or its process does", async () => {
  const code = (name) => `import { AsyncLocalStorage, AsyncResource } from "node:async_hooks"; import { Socket } from "node:net"; void [AsyncLocalStorage, AsyncResource, Socket];
    export default { run() { ${name} = () => { throw new TypeError("replaced"); }; return 1; } };`;
  const rest = [...REPLACED];
  const lane = async () => {
    for (let name = rest.pop(); name; name = rest.pop()) {
      const host = await Host.load({ m: code(name) }, { one_call: true });
      try {
        const first = await endOf(host, 1, workflow({}));
        if (typeof first === "object") await endOf(host, 2, workflow({}));
      } catch (error) {
        assert.fail(`${name}: ${error.message}`);
      } finally {
        host.end();
      }
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
});

/** The code with which a host exits by itself, once all that it sent is read. */
async function exitOf(host) {
  let late;
  const tooLate = new Promise((_, reject) => (late = setTimeout(() => reject(new Error("the host goes on")), 20_000)));
  return Promise.race([host.closed, tooLate]).finally(() => clearTimeout(late));
}

const LEFT_REPLACED = [
  "Array.prototype.pop", "Array.prototype.push", "Array.prototype.shift", "Array.prototype.splice", "Array.prototype[Symbol.iterator]", "Map.prototype.get", "Map.prototype.set", "Map.prototype.delete",
  "Set.prototype.add", "WeakMap.prototype.get", "Promise.prototype.then", "Promise.all", "JSON.stringify", "JSON.parse", "Function.prototype.call", "Object.defineProperty", "Object.hasOwn",
  "Object.prototype.then", "RegExp.prototype.exec", "Date.now", "globalThis.setTimeout", "globalThis.Map", "process.nextTick", "Buffer.from",
];

test("a call that leaves a built-in replaced after it awaited something is the last one of its process", async () => {
  const code = (name, by) => `export default { async run() { await null; ${name} = ${by}; return 1; } };`;
  const rest = LEFT_REPLACED.flatMap((name) => ["() => { throw new TypeError('replaced'); }", "function () { return undefined; }"].map((by) => ({ name, by })));
  const lane = async () => {
    for (let one = rest.pop(); one; one = rest.pop()) {
      const host = await Host.load({ m: code(one.name, one.by) }, { one_call: true });
      try {
        host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...workflow({}) });
        host.send({ t: "call", id: 2, deadline_ms: 5000, module: "m", props: {}, ...workflow({}) });
        // Where it comes to an end that it can no longer show, it has an exit code of its own.
        const code = await exitOf(host);
        const said = done(host.frames.filter((frame) => frame.id === 1));
        assert.ok(said ? code === 0 && said.left_running === true : code !== 0, `${one.name} = ${one.by}: ${code}, ${JSON.stringify(said)}`);
        const next = host.frames.filter((frame) => frame.id === 2);
        assert.ok(next.every((frame) => frame.t === "back"), `${one.name} = ${one.by}: ${JSON.stringify(next)}`);
      } finally {
        host.end();
      }
    }
  };
  await Promise.all([lane(), lane(), lane(), lane()]);
});

test("a call that puts a built-in back, and a module that replaces one while it loads, leave their process to the next call", async () => {
  const backAgain = `const { push } = Array.prototype;
    export default { async run() { Array.prototype.push = function (...all) { return push.call(this, ...all); }; await null; [].push(1); Array.prototype.push = push; return 1; } };`;
  const whileLoading = `const { push } = Array.prototype; Array.prototype.push = function (...all) { return push.call(this, ...all); };
    export default { async run() { await null; return 1; } };`;
  for (const code of [backAgain, whileLoading]) {
    const host = await Host.load({ m: code }, { one_call: true });
    try {
      for (const id of [1, 2]) {
        const frames = await host.call(id, workflow({}));
        assert.deepEqual([done(frames).ok, done(frames).left_running, finished(frames).exports.$return_value], [true, undefined, 1]);
      }
    } finally {
      host.end();
    }
  }
});

test("the process of several calls ends with the last of them, once one left a built-in replaced", async () => {
  const code = `import { setTimeout as later } from "node:timers/promises";
    let replaced; const isReplaced = new Promise((resolve) => (replaced = resolve));
    export default { async run({ steps }) { if (steps.trigger.event.waits) await isReplaced.then(() => later(50)); else { Array.prototype.at = Array.prototype.map = () => []; replaced(); } } };`;
  const host = await Host.load({ m: code });
  try {
    host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...workflow({}, { trigger: { event: { waits: true }, context: { id: "t" } } }) });
    host.send({ t: "call", id: 2, deadline_ms: 5000, module: "m", props: {}, ...workflow({}) });
    assert.equal(await exitOf(host), 0);
    const ends = host.frames.filter((frame) => frame.t === "done").map(({ id, ok, left_running }) => [id, ok, left_running]);
    assert.deepEqual(ends.sort(), [[1, true, true], [2, true, true]]);
    assert.ok(host.frames.some((frame) => frame.t === "log" && frame.text.includes("left a built-in function replaced")));
  } finally {
    host.end();
  }
});

test("an error that cannot be shown as code replaced what shows it says so, and what it said stays hidden", async () => {
  const code = `export default { run() { RegExp.prototype.exec = () => { throw new TypeError("replaced"); }; throw new Error("a secret"); } };`;
  const host = await Host.load({ m: code });
  try {
    const { ok, error } = done(await host.call(1, workflow({})));
    assert.deepEqual([ok, error.code], [false, "Error"]);
    assert.match(error.message, /cannot be shown: the code replaced a built-in function/);
    assert.doesNotMatch(JSON.stringify(error), /a secret/);
  } finally {
    host.end();
  }
});
