// The props `data_store` and `http_request`: what code sees, and what the server is asked.
import assert from "node:assert/strict";
import { createServer } from "node:http";
import { test } from "node:test";
import { text } from "node:stream/consumers";

import { done, finished, Host, result, run, workflow } from "./harness.mjs";

/** A server's side of data stores: answers what a host asks. */
function serve(host, store = new Map()) {
  const asks = [];
  const answers = {
    get: ({ key }) => store.get(key), set: ({ key, value }) => void store.set(key, value), has: ({ key }) => store.has(key), delete: ({ key }) => void store.delete(key),
    clear: () => store.clear(), size: () => store.size, set_ttl: () => null,
    keys: ({ after, limit }) => page([...store.keys()], (key) => key, after, limit), entries: ({ after, limit }) => page([...store.entries()], ([key]) => key, after, limit),
  };
  const page = (all, key, after, limit) => {
    const sorted = all.sort((a, b) => (key(a) < key(b) ? -1 : 1)).filter((one) => after === undefined || key(one) > after);
    return { items: sorted.slice(0, limit), ...(sorted.length > limit ? { next: key(sorted[limit - 1]) } : {}) };
  };
  host.onFrame = (frame) => {
    host.frames.push(frame);
    if (frame.t !== "ask") return;
    asks.push(frame);
    const value = answers[frame.kind.replace("data_store.", "")](frame.payload);
    host.send({ t: "answer", id: frame.id, ask: frame.ask, ok: true, ...(value === undefined ? {} : { value }) });
  };
  return { store, asks };
}

const step = (body) => `export default { props: { s: { type: "data_store" } }, async run({ $ }) { ${body} } };`;

async function withStore(body, store, props = { s: "ds_1" }) {
  const host = await Host.load({ m: step(body) });
  const served = serve(host, store);
  try {
    const frames = await host.call(1, workflow(props));
    return { ...served, frames, value: finished(frames)?.exports.$return_value, error: done(frames).error };
  } finally {
    host.end();
  }
}

test("a dir prop: files of its store are in /tmp, and those that changed go into it at once when the code has ended well", async () => {
  // Here a module is in the folder that stands for /tmp.
  const code = `import fs from "node:fs"; const at = (path) => new URL(path, import.meta.url); export default { props: { d: { type: "dir", accessMode: "read-write", sync: true } }, async run({ $ }) {
    const had = fs.readFileSync(at("in/a.txt"), "utf8"); fs.writeFileSync(at("out.txt"), had + "!"); if (String(this.d) === "fails") throw new Error("no"); return had; } };`;
  const kept = [], read = [];
  const answers = {
    "files.list": () => ({ items: [{ path: "in/a.txt", id: "up_1", size: 2 }], next: null }), "files.read": (asked) => (read.push(asked), Buffer.from("hi").toString("base64")),
    "files.begin": () => "up_2", "files.part": ({ bytes }) => void kept.push(Buffer.from(bytes, "base64").toString()), "files.keep": ({ files }) => void kept.push(files),
  };
  const host = await Host.load({ m: code });
  host.onFrame = (frame) => {
    host.frames.push(frame);
    if (frame.t === "ask") host.send({ t: "answer", id: frame.id, ask: frame.ask, ok: true, value: answers[frame.kind](frame.payload) });
  };
  try {
    const first = await host.call(1, workflow({ d: "s" }));
    assert.deepEqual(done(first).error, undefined);
    assert.equal(finished(first).exports.$return_value, "hi");
    assert.deepEqual(kept.splice(0).filter((one) => one === "hi!" || one[0]?.[1] === "out.txt"), ["hi!", [["up_2", "out.txt"]]]);
    // What is there as it was is not fetched again; a failure keeps nothing.
    await host.call(2, workflow({ d: "s" }));
    assert.deepEqual(read, [{ store: "s", path: "in/a.txt", id: "up_1", position: 0 }]);
    kept.splice(0);
    assert.equal(done(await host.call(3, workflow({ d: "fails" }))).error.message, "no");
    assert.deepEqual(kept, []);
  } finally {
    host.end();
  }
});

test("a dir prop: a store that cannot be laid into /tmp is named, and nothing of it stays there", async () => {
  const code = `import fs from "node:fs"; export default { props: { d: { type: "dir", sync: true } }, async run() { const at = new URL(".", import.meta.url); return fs.readdirSync(at, { recursive: true }).filter((name) => /^(a|b)/.test(name)).sort(); } };`;
  let paths = [];
  const answers = { "files.list": () => ({ items: paths.map((path) => ({ path, id: `up_${path}`, size: 0 })), next: null }), "files.keep": () => null, "files.begin": () => "up_2" };
  const host = await Host.load({ m: code });
  host.onFrame = (frame) => {
    host.frames.push(frame);
    if (frame.t === "ask") host.send({ t: "answer", id: frame.id, ask: frame.ask, ok: true, value: answers[frame.kind](frame.payload) });
  };
  let id = 0;
  const calls = async (...there) => {
    paths = there;
    const frames = await host.call(++id, workflow({ d: "s" }));
    return done(frames).error?.message ?? finished(frames).exports.$return_value;
  };
  try {
    const message = await calls("b/c", "a", "a/b");
    assert.match(message, /file store `s` cannot be mirrored with \/tmp: for its file `a\/b`/);
    assert.deepEqual(await calls(), []);
    // A file that becomes a folder, and the other way round.
    assert.deepEqual(await calls("a"), ["a"]);
    assert.deepEqual(await calls("a/b"), ["a", "a/b"]);
    assert.deepEqual(await calls("a"), ["a"]);
  } finally {
    host.end();
  }
});

test("get, set, has, delete, size, clear", async () => {
  const { value, asks, store } = await withStore(`await this.s.set("a", { n: 1 }); await this.s.set("b", null); const got = [await this.s.get("a"), await this.s.get("b"), typeof (await this.s.get("none")), await this.s.has("a"), await this.s.has("x"), await this.s.size()];
    await this.s.delete("a"); got.push(await this.s.has("a")); await this.s.clear(); return got;`);
  assert.deepEqual(value, [{ n: 1 }, null, "undefined", true, false, 2, false]);
  assert.equal(store.size, 0);
  assert.deepEqual(asks[0], { t: "ask", id: 1, ask: 1, kind: "data_store.set", payload: { store: "ds_1", key: "a", value: { n: 1 } } });
  assert.deepEqual(asks[2].payload, { store: "ds_1", key: "a" });
});

test("a time to live goes along with set and setTtl", async () => {
  const { asks } = await withStore(`await this.s.set("a", 1, { ttl: 60 }); await this.s.setTtl("a", 5); await this.s.setTtl("a", null);`);
  assert.deepEqual(asks.map(({ kind, payload: { ttl } }) => [kind, ttl]), [["data_store.set", 60], ["data_store.set_ttl", 5], ["data_store.set_ttl", null]]);
});

test("keys and entries come in pages: awaited as an array, or one by one", async () => {
  const many = new Map(Array.from({ length: 250 }, (_, i) => [`k${String(i).padStart(3, "0")}`, i]));
  const { value, asks } = await withStore(`const keys = await this.s.keys(); const entries = await this.s.entries(); let sum = 0; for await (const [k, v] of this.s) sum += v; let n = 0; for await (const k of this.s.keys()) if (++n === 3) break;
    return [keys.length, entries[249], sum, n];`, many);
  assert.deepEqual(value, [250, ["k249", 249], 31125, 3]);
  assert.equal(asks.length, 3 + 3 + 3 + 1);
  assert.deepEqual(asks[1].payload, { store: "ds_1", after: "k099", limit: 100 });
});

test("what is not awaited is done before the step ends, and its refusal fails the step", async () => {
  const { frames } = await withStore(`for (let i = 0; i < 300; i++) this.s.set("k" + i, i);`);
  assert.equal(frames.filter((f) => f.t === "ask").length, 300);
  assert.ok(frames.findIndex((f) => f.state === "finished") > frames.findLastIndex((f) => f.t === "ask"));
  const host = await Host.load({ m: step(`this.s.set("a", 1);`) });
  const ended = host.call(1, workflow({ s: "ds_1" }));
  await host.until((f) => f.t === "ask");
  host.send({ t: "answer", id: 1, ask: 1, ok: false, error: { code: "QuotaExceeded", message: "the store is full" } });
  const end = done(await ended);
  assert.deepEqual([end.ok, end.error.code, end.error.message, end.namespace], [false, "QuotaExceeded", "the store is full", "one"]);
  host.end();
});

test("no more than 100 asks are unanswered at a time", async () => {
  const host = await Host.load({ m: step(`await Promise.all(Array.from({ length: 150 }, (_, i) => this.s.get("k" + i)));`) });
  const ended = host.call(1, workflow({ s: "ds_1" }));
  await host.until((f) => f.t === "ask" && f.ask === 100);
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal(host.frames.filter((f) => f.t === "ask").length, 100);
  for (let ask = 1; ask <= 150; ask++) {
    await host.until((f) => f.t === "ask" && f.ask === ask);
    host.send({ t: "answer", id: 1, ask, ok: true });
  }
  assert.equal(done(await ended).ok, true);
  host.end();
});

test("keys, values and times to live that are none are refused before the server is asked", async () => {
  for (const [body, message] of [[`get()`, /a key of a data store is a string; got undefined/], [`get("")`, /1 to 1024/], [`set("a")`, /is undefined; use `delete`/], [`set("a", 5n)`, /not JSON-serializable/], [`set("a", 1, { ttl: -1 })`, /number of seconds/],
    [`set("a", 1, 60)`, /third argument of `set` of a data store is a number \(60\); allowed is an object of options, such as { ttl: 60 }/], [`set("a", 1, { TTL: 60 })`, /has no option `TTL`/]]) {
    const { error, asks } = await withStore(`await this.s.${body}`);
    assert.match(error.message, message);
    assert.equal(asks.length, 0);
  }
});

test("a store that is needed and not configured is there to say so, an optional one is absent; one after the end of the run is refused", async () => {
  assert.equal((await withStore(`return typeof this.s.get`, undefined, {})).value, "function");
  const host = await Host.load({ m: `export default { props: { s: { type: "data_store", optional: true }, r: { type: "http_request" } }, async run() { try { await this.r.execute(); } catch (e) { return ["s" in this, e.message]; } } };` });
  assert.deepEqual(finished(await host.call(1, workflow({}))).exports.$return_value, [false, "the prop `r` has no request; configure one: an object with `url`"]);
  host.end();
  const { frames } = await withStore(`const s = this.s; setTimeout(() => s.get("a").catch((e) => console.log(e.message)), 1); `);
  assert.equal(done(frames).ok, true);
});

test("options methods get the store itself through inputValues", async () => {
  const code = `const app = { type: "app", app: "stores", propDefinitions: { key: { type: "string", async options({ dataStore }) { return await dataStore.keys(); } } } };
    export default { props: { app, s: { type: "data_store" }, key: { propDefinition: [app, "key", (c) => ({ dataStore: c.s })] } }, run() {} };`;
  const host = await Host.load({ m: code });
  serve(host, new Map([["a", 1]]));
  assert.deepEqual(result(await host.call(1, { kind: "options", prop: "key", props: { s: "ds_1" } })).options, [{ label: "a", value: "a" }]);
  host.end();
});

test("an http_request is executed as configured, its expressions evaluated", async () => {
  const server = createServer(async (request, response) => {
    response.writeHead(request.url.startsWith("/fail") ? 404 : 200, { "content-type": "application/json" });
    response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body: await text(request) }));
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  const base = `http://127.0.0.1:${server.address().port}`;
  const code = `export default { props: { r: { type: "http_request" } }, async run() { return await this.r.execute(); } };`;
  const ask = async (r) => {
    const frames = await run(code, workflow({ r }));
    return done(frames).error ?? finished(frames).exports.$return_value;
  };
  try {
    const got = await ask({
      method: "POST", url: `${base}/x?a=1`, params: [{ name: "n", value: "{{steps.trigger.event.n}}" }, { name: "off", value: 1, disabled: true }], headers: [{ name: "X-A", value: "b" }],
      auth: { type: "basic", username: "u", password: "p" }, body: { type: "fields", contentType: "application/x-www-form-urlencoded", fields: [{ name: "f", value: "a b" }] },
    });
    assert.deepEqual([got.status, got.data.method, got.data.url, got.data.headers["x-a"], got.data.headers.authorization, got.data.body], [200, "POST", "/x?a=1&n=20", "b", "Basic dTpw", "f=a+b"]);
    assert.equal((await ask({ method: "PUT", url: base, auth: { type: "bearer", token: "t" }, body: { mode: "raw", contentType: "text/plain", raw: "raw" } })).data.body, "raw");
    assert.equal((await ask({ method: "POST", url: base, body: { fields: [{ name: "a", value: 1 }] } })).data.body, '{"a":1}');
    assert.match((await ask({ method: "POST", url: base, body: { contentType: "multipart/form-data", fields: [{ name: "a", value: 1 }] } })).data.body, /name="a"\r\n\r\n1\r\n/);
    const failed = await ask({ url: `${base}/fail` });
    assert.match(failed.message, /^Request failed with status code 404: \{"method":"GET"/);
    assert.match((await ask({ url: "nope" })).message, /http_request: `nope` is no address/);
  } finally {
    server.close();
  }
});
