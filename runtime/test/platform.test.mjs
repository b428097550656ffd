// `@pipedream/platform` and `@pipedream/types` as components import them (registry-facts, section 3).
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { Agent, createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { text } from "node:stream/consumers";

import * as platform from "../dist/platform.mjs";
import * as types from "../dist/types.mjs";

const { axios, cloneSafe, ConfigurationError, getFileStream, getFileStreamAndMetadata, jsonStringifySafe } = platform;

let server;
let base;
before(async () => {
  server = createServer(async (request, response) => {
    const body = await text(request);
    const url = new URL(request.url, "http://x");
    if (url.pathname === "/sign") {
      response.end(`OAuth ${Buffer.from(body).toString("base64")}`);
    } else if (url.pathname === "/file") {
      response.writeHead(200, { "content-type": "text/csv", "content-length": 3, etag: '"e"', "last-modified": "Wed, 01 Jan 2020 00:00:00 GMT", "content-disposition": "attachment; filename=\"a b.csv\"" });
      response.end("a,b");
    } else if (url.pathname === "/chunked.png") {
      response.write("12");
      setTimeout(() => response.end("345"), 5);
    } else {
      response.writeHead(Number(url.searchParams.get("status") ?? 200), { "content-type": "application/json" });
      response.end(JSON.stringify({ method: request.method, url: request.url, headers: request.headers, body }));
    }
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", resolve));
  base = `http://127.0.0.1:${server.address().port}`;
});
after(() => server.close());

test("all exports are there, and there are no others", () => {
  const names = "axios transformConfigForOauth cloneSafe jsonStringifySafe getFileStream getFileStreamAndMetadata ConfigurationError sqlProp sqlProxy DEFAULT_POLLING_SOURCE_TIMER_INTERVAL PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID SendConfigEmail SendConfigEmit SendConfigEmit_required SendConfigEmit_optional SendConfigHTTP SendConfigS3 SendConfigSQL SendConfigSnowflake SendConfigSSE HTTP_METHODS sendTypeMap END_NEEDLE $end $sendConfigRuntimeTypeChecker $event $send".split(" ");
  assert.deepEqual(Object.keys(platform).filter((name) => name !== "default").sort(), names.sort());
  assert.deepEqual(Object.keys(platform.default).sort(), names.sort());
  assert.equal(platform.DEFAULT_POLLING_SOURCE_TIMER_INTERVAL, 900);
  assert.equal(platform.$event, undefined);
  assert.equal(platform.$send, undefined);
  assert.equal(typeof platform.PD_OFFICIAL_GMAIL_OAUTH_CLIENT_ID, "string");
});

test("what is exported is declared, and what is declared is exported", () => {
  const declared = (file) => [...readFileSync(new URL(`../types/${file}`, import.meta.url), "utf8").matchAll(/^export (?:const|function|class) ([$\w]+)/gm)].map((found) => found[1]);
  const exported = (module) => Object.keys(module).filter((name) => !["default", "$event", "$send"].includes(name)).sort();
  assert.deepEqual([...new Set(declared("platform.d.ts"))].sort(), exported(platform));
  assert.deepEqual([...new Set(declared("index.d.ts"))].sort(), exported(types));
});

test("define functions give back what they get", () => {
  const component = {};
  for (const name of ["defineApp", "defineSource", "defineAction"]) assert.equal(types[name](component), component);
});

test("axios gives the data, or the response where asked", async () => {
  assert.equal((await axios(undefined, { url: `${base}/x` })).url, "/x");
  const full = await axios({}, { url: `${base}/x`, returnFullResponse: true });
  assert.equal(full.status, 200);
});

test("axios drops undefined members of headers, params and data in place", async () => {
  const config = { method: "POST", url: `${base}/x`, headers: { a: undefined, b: "1" }, params: { p: undefined, q: 0 }, data: { d: undefined, e: null } };
  const answer = await axios({}, config);
  assert.deepEqual([config.headers, config.params, config.data], [{ b: "1" }, { q: 0 }, { e: null }]);
  assert.deepEqual([answer.url, answer.body], ["/x?q=0", '{"e":null}']);
});

test("axios leaves forms as they are", async () => {
  const data = new URLSearchParams({ a: "1" });
  assert.equal((await axios({}, { method: "POST", url: `${base}/x`, data })).body, "a=1");
});

test("axios refuses body", async () => {
  await assert.rejects(axios({}, { url: `${base}/x`, body: "b" }), { name: "ConfigurationError", message: "unexpected body, use only data instead" });
  await axios({}, { url: `${base}/x`, body: null });
});

test("the query of the address moves into params, and explicit params win", async () => {
  const config = { url: `${base}/x?a=1&b=2&b=3&c%5B%5D=4&c%5B%5D=5&d=e%20f`, params: { a: "9" } };
  const answer = await axios({}, config);
  assert.deepEqual(config.params, { "c[]": ["4", "5"], d: "e f", a: "9" });
  assert.deepEqual([...new URLSearchParams(answer.url.slice(3))], [["b", "2"], ["b", "3"], ["c[]", "4"], ["c[]", "5"], ["d", "e f"], ["a", "9"]]);
  assert.equal((await axios({}, { url: `${base}/x?a=1`, params: new URLSearchParams("a=2&z=3") })).url, "/x?a=2&z=3");
  assert.equal((await axios({}, { url: new URL(`${base}/x?a=1`) })).url, "/x?a=1");
});

test("a plus in the query of an address is a plus, and what is no UTF-8 or repeated stays as written", async () => {
  const config = { url: `${base}/x?email=foo+bar@x.com&phone=+4912&s=%20&p=a%2Bb&empty=&flag` };
  const answer = await axios({}, config);
  assert.deepEqual(config.params, { email: "foo+bar@x.com", phone: "+4912", s: " ", p: "a+b", empty: "", flag: "" });
  assert.equal(answer.url, "/x?email=foo%2Bbar%40x.com&phone=%2B4912&s=+&p=a%2Bb&empty=&flag=");
  assert.equal((await axios({}, { url: `${base}/x?b=%E4&c=a+b&c=%2B&d=1` })).url, "/x?b=%E4&c=a+b&c=%2B&d=1");
  assert.equal((await axios({}, { url: `${base}/x?b=%E4`, params: { b: 1 } })).url, "/x?b=1");
});

test("debug exports what was sent and what came", async () => {
  const exported = {};
  await axios({ export: (key, value) => (exported[key] = value) }, { url: `${base}/x`, debug: true, httpAgent: undefined });
  assert.equal(exported.debug_config.url, `${base}/x`);
  assert.equal(exported.debug_response.url, "/x");
  const step = {};
  const httpAgent = new Agent();
  httpAgent.self = httpAgent;
  await axios(step, { url: `${base}/x`, debug: true, httpAgent });
  assert.deepEqual([step.debug_config.httpAgent.self, step.debug_response.url], ["[Circular]", "/x"]);
  await axios(Object.freeze({}), { url: `${base}/x`, debug: true });
});

test("an error of the third party shows its answer, and keeps its stack", async () => {
  const exported = {};
  const error = await axios({ context: {}, export: (key, value) => (exported[key] = value) }, { url: `${base}/x?status=404` }).catch((e) => e);
  assert.equal(error.name, "AxiosError - Request failed with status code 404");
  assert.equal(JSON.parse(error.message).url, "/x?status=404");
  assert.deepEqual([error.config, error.request, error.response.config, error.response.request], [undefined, undefined, undefined, undefined]);
  assert.deepEqual([error.response.status, error.response.data.method], [404, "GET"]);
  assert.match(error.stack, /Request failed with status code 404/);
  assert.deepEqual(Object.keys(exported.debug), ["status", "statusText", "headers", "data"]);
});

test("an error is shown on a step without export, and not at all without a context", async () => {
  const step = { context: {} };
  await axios(step, { url: `${base}/x?status=500` }).catch(() => {});
  assert.equal(step.debug.status, 500);
  const source = {};
  await axios(source, { url: `${base}/x?status=500` }).catch(() => {});
  assert.deepEqual(source, {});
});

test("an error without an answer is left as it is", async () => {
  await assert.rejects(axios({}, { url: "http://127.0.0.1:1/" }), (error) => error.code === "ECONNREFUSED" && !error.name.includes(" - ") && error.config !== undefined);
});

test("axios.create gives an instance with the same manners", async () => {
  const instance = axios.create({ baseURL: base, headers: { "x-a": "1" } });
  const answer = await instance.get("/x?a=1", { params: { b: undefined, a: 2 } });
  assert.deepEqual([answer.url, answer.headers["x-a"]], ["/x?a=2", "1"]);
  await assert.rejects(instance.post("/x?status=418", {}), { name: "AxiosError - Request failed with status code 418" });
});

test("OAuth 1: the signer's answer is the Authorization header of the request it signed", async () => {
  const answer = await axios({}, { method: "POST", url: `${base}/x?a=b%20c`, params: { d: "(e)" }, data: { no: "form" } }, { oauthSignerUri: `${base}/sign`, token: { key: "k" } });
  const signed = JSON.parse(Buffer.from(answer.headers.authorization.slice("OAuth ".length), "base64"));
  assert.deepEqual(signed, { requestData: { method: "POST", url: `${base}/x?a=b%20c&d=%28e%29` }, token: { key: "k" } });
  assert.equal(answer.url, "/x?a=b%20c&d=%28e%29");
});

test("transformConfigForOauth signs a form's body and no other", () => {
  const form = { url: "http://x/y", data: "a=1", headers: { "Content-Type": "application/x-www-form-urlencoded" } };
  assert.deepEqual(platform.transformConfigForOauth(form), { method: "get", url: "http://x/y", data: "a=1" });
  assert.deepEqual(platform.transformConfigForOauth({ baseURL: "http://x", url: "y", method: "put", params: { a: [1, 2], b: undefined } }), { method: "put", url: "http://x/y?a=1&a=2" });
});

test("ConfigurationError is known by its name", () => {
  const error = new ConfigurationError("m");
  assert.deepEqual([error.name, error.message, error.exposeStack, error instanceof Error], ["ConfigurationError", "m", false, true]);
  assert.equal(new ConfigurationError("m", true).exposeStack, true);
});

test("jsonStringifySafe and cloneSafe survive cycles, big integers, errors and getters that throw", () => {
  const shared = { n: 1 };
  const value = { a: shared, b: shared, big: 5n, list: [shared], get bad() { throw new Error("no"); } };
  value.self = value;
  const error = new TypeError("oops");
  error.self = error;
  const copy = cloneSafe({ value, error, when: new Date(0), none: undefined });
  assert.deepEqual(copy.value, { a: { n: 1 }, b: { n: 1 }, big: "5", list: [{ n: 1 }], bad: "[Throws: no]", self: "[Circular]" });
  assert.deepEqual([copy.error.name, copy.error.message, copy.error.self, copy.when], ["TypeError", "oops", "[Circular]", "1970-01-01T00:00:00.000Z"]);
  assert.equal(jsonStringifySafe({ a: 1, b: 2 }, ["a"], 1), '{\n "a": 1\n}');
  assert.equal(jsonStringifySafe({ a: 1 }, (key, item) => (key === "a" ? item + 1 : item)), '{"a":2}');
  assert.deepEqual([cloneSafe(undefined), cloneSafe(null), cloneSafe("s")], [undefined, null, "s"]);
});

test("getFileStream reads data: URLs, http URLs and paths", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "platform-")), "f.json");
  writeFileSync(path, "{}");
  assert.equal(await text(await getFileStream("data:text/plain;base64,aGk=")), "hi");
  assert.equal(await text(await getFileStream("data:,a%20b")), "a b");
  assert.equal(await text(await getFileStream(`${base}/file`)), "a,b");
  assert.equal(await text(await getFileStream(path)), "{}");
  assert.equal(await text(await getFileStream(`file://${path}`)), "{}");
  await assert.rejects(getFileStream(`${path}.none`), { code: "ENOENT" });
  await assert.rejects(getFileStream(`${base}/x?status=404`), /404/);
  await assert.rejects(getFileStream(undefined), /a file is named by its path or URL/);
  await assert.rejects(getFileStream(tmpdir()), /is not a file/);
});

test("getFileStreamAndMetadata tells size, type, time, name and etag", async () => {
  const path = join(mkdtempSync(join(tmpdir(), "platform-")), "f.json");
  writeFileSync(path, "{}");
  const local = await getFileStreamAndMetadata(path);
  assert.deepEqual([local.metadata.size, local.metadata.contentType, local.metadata.name, local.metadata.lastModified instanceof Date], [2, "application/json", "f.json", true]);
  assert.equal(await text(local.stream), "{}");
  const remote = await getFileStreamAndMetadata(`${base}/file`);
  assert.deepEqual(remote.metadata, { size: 3, contentType: "text/csv", lastModified: new Date("2020-01-01"), name: "a b.csv", etag: '"e"' });
  assert.equal(await text(remote.stream), "a,b");
  const data = await getFileStreamAndMetadata("data:image/png;base64,AAAA");
  assert.deepEqual([data.metadata.size, data.metadata.contentType, data.metadata.name], [3, "image/png", "file.png"]);
});

test("a data: URL tells its type without parameters, and the name that it has", async () => {
  const described = async (url) => {
    const { stream, metadata } = await getFileStreamAndMetadata(url);
    return [await text(stream), metadata.contentType, metadata.name];
  };
  assert.deepEqual(await described("data:text/plain;charset=utf-8,%C3%BC"), ["ü", "text/plain", "file.txt"]);
  assert.deepEqual(await described("data:application/pdf;name=x%20y.pdf;base64,aGk="), ["hi", "application/pdf", "x y.pdf"]);
  assert.deepEqual(await described("data:text/html,<b>"), ["<b>", "text/html", "file.html"]);
  assert.deepEqual(await described("data:image/jpeg;base64,aGk="), ["hi", "image/jpeg", "file.jpg"]);
  assert.deepEqual(await described("data:,a"), ["a", "text/plain", "file.txt"]);
});

test("a file whose size is not told goes through the disk, and leaves it", async () => {
  const { stream, metadata } = await getFileStreamAndMetadata(`${base}/chunked.png`);
  assert.deepEqual([metadata.size, metadata.name, metadata.contentType], [5, "chunked.png", "image/png"]);
  assert.equal(readdirSync(tmpdir()).filter((name) => name.startsWith("file-stream-")).length, 1);
  const closed = new Promise((resolve) => stream.once("close", resolve));
  assert.equal(await text(stream), "12345");
  await closed;
  while (readdirSync(tmpdir()).some((name) => name.startsWith("file-stream-"))) await new Promise((resolve) => setImmediate(resolve));
});

test("sqlProxy and sqlProp are stubs to spread and override", () => {
  assert.deepEqual(Object.keys(platform.sqlProxy.methods), ["getClientConfiguration", "executeQuery", "proxyAdapter"]);
  assert.deepEqual(Object.keys(platform.sqlProp.methods), ["executeQueryAdapter", "getSchema"]);
  for (const [name, method] of Object.entries({ ...platform.sqlProxy.methods, ...platform.sqlProp.methods })) {
    assert.throws(method, { name: "ConfigurationError", message: `${name} not implemented` });
  }
});

test("$end throws an error that tells the end from a failure", () => {
  try {
    platform.$end("enough");
    assert.fail("it went on");
  } catch (error) {
    assert.equal(error[platform.END_NEEDLE].message, "enough");
    assert.ok(error.__pd_end.ts);
  }
});

test("what $.send accepts is checked, with the value and the path in the message", () => {
  const check = platform.$sendConfigRuntimeTypeChecker;
  check.http({ method: "POST", url: "http://x", data: { a: 1 }, headers: {}, params: {}, auth: { username: "u", password: "p" } });
  assert.throws(() => check.http({ method: "post", url: "http://x" }), /^TypeError: \$send\.http: invalid value post for method$/);
  assert.throws(() => check.http({ url: 5 }), /invalid value 5 for url/);
  assert.throws(() => check.http("http://x"), /\$send\.http: invalid value http:\/\/x/);
  check.s3({ bucket: "b", prefix: "p", payload: { a: 1 } });
  for (const key of ["bucket", "prefix", "payload"]) assert.throws(() => check.s3({ bucket: "b", prefix: "p", payload: "x", [key]: undefined }), new RegExp(`invalid value undefined for ${key}`));
  check.email({ subject: "s", text: "t" });
  check.emit({ raw_event: {} });
  check.sse({ channel: "c", payload: 0 });
  check.sql({ table: "t", payload: {} });
  assert.throws(() => check.snowflake({}), /for account/);
  assert.deepEqual(Object.keys(platform.sendTypeMap).sort(), Object.keys(check).sort());
  assert.deepEqual(platform.HTTP_METHODS, ["GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"]);
});

test("the SendConfig values can be used as codecs", () => {
  const config = { bucket: "b", prefix: "p", payload: "x" };
  assert.deepEqual(platform.SendConfigS3.decode(config), { _tag: "Right", right: config });
  assert.equal(platform.SendConfigS3.decode({}).left.length, 3);
  assert.equal(platform.SendConfigEmit_optional.is({}), true);
  assert.equal(platform.SendConfigEmit_required.is({}), false);
  assert.equal(platform.SendConfigSSE.name, "SendConfigSSE");
});
