// A host over its wire, as the server speaks to it.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

const script = fileURLToPath(new URL("../dist/host.cjs", import.meta.url));
const DEADLINE_MS = 20_000;

export function frameBytes(frame) {
  const json = Buffer.from(typeof frame === "string" ? frame : JSON.stringify(frame));
  const head = Buffer.alloc(4);
  head.writeUInt32LE(json.length);
  return Buffer.concat([head, json]);
}

export class Host {
  frames = [];
  db = {};
  /** Takes each frame as it comes, in place of `frames`. */
  onFrame = undefined;
  #chunks = Buffer.alloc(0);
  #waiting = [];

  constructor() {
    this.child = spawn(process.execPath, [script], { stdio: ["ignore", "ignore", "inherit", "pipe"], env: {} });
    this.exited = new Promise((resolve) => this.child.on("exit", (code) => resolve(code)));
    this.closed = new Promise((resolve) => this.child.on("close", (code) => resolve(code)));
    this.exited.then(() => this.#wake());
    // A test that fails does not keep its host; what waits for a frame keeps the tests.
    this.child.unref();
    process.once("exit", () => this.end());
    this.wire = this.child.stdio[3];
    this.wire.unref();
    this.wire.on("data", (chunk) => this.#take(chunk));
    this.wire.on("error", () => {});
  }

  #wake() {
    for (const wake of this.#waiting.splice(0)) wake();
  }

  #take(chunk) {
    this.#chunks = this.#chunks.length === 0 ? chunk : Buffer.concat([this.#chunks, chunk]);
    let at = 0;
    while (this.#chunks.length - at >= 4 && this.#chunks.length - at - 4 >= this.#chunks.readUInt32LE(at)) {
      const end = at + 4 + this.#chunks.readUInt32LE(at);
      const frame = JSON.parse(this.#chunks.toString("utf8", at + 4, end));
      at = end;
      if (frame.t === "db") this.#written(frame);
      if (this.onFrame) this.onFrame(frame);
      else this.frames.push(frame);
    }
    this.#chunks = this.#chunks.subarray(at);
    this.#wake();
  }

  #written({ key, value }) {
    if (value === undefined) delete this.db[key];
    else this.db[key] = value;
  }

  send(frame) {
    if (frame.t === "call" && frame.kind === "source") frame = { db: this.db, ...frame };
    this.wire.write(frameBytes(frame));
  }

  /** The first frame that `found` accepts; waits for the frame, never for a time. */
  async until(found) {
    let late;
    const tooLate = new Promise((_, reject) => {
      late = setTimeout(() => reject(new Error(`no such frame came; there are ${JSON.stringify(this.frames).slice(0, 2000)}`)), DEADLINE_MS);
    });
    try {
      for (;;) {
        const frame = this.frames.find(found);
        if (frame) return frame;
        if (this.child.exitCode !== null) throw new Error(`the host ended with ${this.child.exitCode}`);
        await Promise.race([tooLate, new Promise((wake) => this.#waiting.push(wake))]);
      }
    } finally {
      clearTimeout(late);
    }
  }

  end() {
    this.child.kill("SIGKILL");
  }

  /** A host with modules loaded, given as text by name. `db`: what `$.service.db` holds; the harness keeps it up to date, as the server does. `maps`: source maps by module. */
  static async load(modules, { db = {}, maps = {}, ...load } = {}) {
    const folder = mkdtempSync(join(tmpdir(), "host-test-"));
    const host = new Host();
    host.exited.then(() => rmSync(folder, { recursive: true, force: true }));
    const list = Object.entries(modules).map(([name, code]) => {
      const path = join(folder, `${name}.mjs`);
      writeFileSync(path, code);
      if (maps[name]) writeFileSync(`${path}.map`, JSON.stringify(maps[name]));
      return { name, path };
    });
    host.db = { ...db };
    host.send({ t: "load", protocol: 1, modules: list, env: {}, tmp: folder, ...load });
    host.loaded = await host.until((frame) => frame.t === "loaded" || frame.t === "load_failed");
    return host;
  }

  /** Makes a call and gives all its frames. */
  async call(id, call) {
    this.send({ t: "call", id, deadline_ms: 5000, module: "m", props: {}, ...call });
    await this.until((frame) => frame.t === "done" && frame.id === id);
    return this.frames.filter((frame) => frame.id === id);
  }
}

/** Loads one module, makes one call, gives all frames of it. */
export async function run(code, call, load = {}) {
  const host = await Host.load(typeof code === "string" ? { m: code } : code, load);
  try {
    return await host.call(1, call);
  } finally {
    host.end();
  }
}

export const source = { kind: "source", hook: null, event: {} };
export const done = (frames) => frames.find((frame) => frame.t === "done");
export const result = (frames) => done(frames).result;
export const finished = (frames, namespace = "one") => frames.find((frame) => frame.state === "finished" && frame.namespace === namespace);

export const workflow = (props, extra = {}) => ({
  kind: "workflow", trigger: { event: { n: 20 }, context: { id: "t" } }, context: { id: "c" }, results: {}, test: false,
  steps: [{ namespace: "one", module: "m", props, disabled: false }], ...extra,
});

/** Runs each of the expressions as a throw of its own; gives the errors as the server gets them. */
export async function errorsOf(thrown, setup = "") {
  const host = await Host.load({ m: `${setup}\nconst all = [${thrown.map((text) => `async () => { ${text} }`).join(",\n")}];\nexport default { async run({ i }) { await all[i](); } };` });
  const errors = [];
  try {
    for (let i = 0; i < thrown.length; i++) errors.push(done(await host.call(i + 1, { ...source, event: { i } })).error);
  } finally {
    host.end();
  }
  return errors;
}
