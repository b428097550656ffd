// Calls per second of one host, and the CPU time of a call, which a busy machine changes less:
// `node test/speed.mjs [calls] [concurrency]`. Not one of the tests.
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { Host } from "./harness.mjs";

const total = Number(process.argv[2] ?? 50_000);
const concurrency = Number(process.argv[3] ?? 32);

const MODULES = {
  answer: `export default defineComponent({ async run({ steps, $ }) { await $.respond({ status: 200, body: { i: steps.trigger.event.body.i } }); } });`,
  workflow: `export default defineComponent({ props: { n: "integer" }, async run({ steps, $ }) { $.export("$summary", "done"); return { doubled: this.n * 2 }; } });`,
  source: `export default { props: { db: "$.service.db" }, methods: { next() { const n = (this.db.get("n") ?? 0) + 1; this.db.set("n", n); return n; } }, run(event) { this.$emit(event, { id: this.next() }); } };`,
};
const CALLS = {
  answer: {
    kind: "workflow", trigger: { event: { method: "POST", path: "/", headers: { "content-type": "application/json" }, body: { i: 1 } }, context: { id: "1" } }, context: { id: "1" },
    results: {}, test: false, steps: [{ namespace: "one", module: "answer", props: {}, literal: true, disabled: false }],
  },
  workflow: {
    kind: "workflow", trigger: { event: { n: 2, headers: { host: "x" }, method: "GET" }, context: { id: "1" } }, context: { id: "1" }, results: {}, test: false,
    steps: [{ namespace: "one", module: "workflow", props: { n: "{{steps.trigger.event.n}}" }, disabled: false }],
  },
  source: { kind: "source", module: "source", hook: null, event: { method: "POST", headers: { "content-type": "x" }, body: { a: 1 } }, props: {} },
};

const folder = mkdtempSync(join(tmpdir(), "host-speed-"));
const modules = Object.entries(MODULES).map(([name, code]) => {
  const path = join(folder, `${name}.mjs`);
  writeFileSync(path, code);
  return { name, path };
});
const host = new Host();
host.send({ t: "load", protocol: 1, modules, env: {}, db: {}, tmp: folder, one_call: concurrency === 1 });
host.wire.ref();
await host.until((frame) => frame.t === "loaded" || frame.t === "load_failed");

/** CPU time that the host has used, in microseconds; Linux only. */
function used() {
  const fields = readFileSync(`/proc/${host.child.pid}/stat`, "utf8").split(") ")[1].split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10_000;
}

let id = 0;
for (const [name, call] of Object.entries(CALLS)) {
  for (const round of ["warm-up", "measured"]) {
    const count = round === "warm-up" ? Math.min(total, 5000) : total;
    let done = 0;
    let sent = 0;
    const started = performance.now();
    const before = used();
    await new Promise((resolve, reject) => {
      const next = () => {
        sent += 1;
        host.send({ t: "call", id: ++id, deadline_ms: 60_000, ...call });
      };
      host.onFrame = (frame) => {
        if (frame.t !== "done") return;
        if (!frame.ok) reject(new Error(frame.error.stack));
        done += 1;
        if (sent < count) next();
        else if (done === count) resolve();
      };
      while (sent < Math.min(count, concurrency)) next();
    });
    const seconds = (performance.now() - started) / 1000;
    if (round === "measured") process.stdout.write(`${name}: ${Math.round(count / seconds)} calls/s, ${((used() - before) / count).toFixed(1)} µs of the host each, ${concurrency} in flight\n`);
  }
}
host.end();
rmSync(folder, { recursive: true, force: true });
