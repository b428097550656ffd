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
