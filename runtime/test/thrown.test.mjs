// What a failed call tells of what was thrown: causes, fields, thrown values of any shape; never secrets or folders of the server.
import assert from "node:assert/strict";
import { test } from "node:test";

import { done, errorsOf, Host, run, source, workflow } from "./harness.mjs";

test("causes are in the stack with their fields, nested, and without end where they form a circle", async () => {
  const [nested, data, circle, deep] = await errorsOf([
    `throw new Error("outer", { cause: new RangeError("middle", { cause: Object.assign(new Error("inner"), { code: "E_IN", errno: -3 }) }) });`,
    `throw new Error("outer", { cause: { why: "quota", left: 0 } });`,
    `const a = new Error("first"); const b = new Error("second", { cause: a }); a.cause = b; throw a;`,
    `let e = new Error("root"); for (let i = 0; i < 500; i++) e = new Error("level " + i, { cause: e }); throw e;`,
  ]);
  assert.equal(nested.message, "outer");
  assert.match(nested.stack, /^Error: outer\n[^]*\[cause\]: RangeError: middle\n[^]*\[cause\]: Error: inner\n[^]*code: 'E_IN',\s+errno: -3/);
  assert.match(data.stack, /\[cause\]: \{ why: 'quota', left: 0 \}/);
  assert.match(circle.stack, /first[^]*\[cause\]: Error: second[^]*\[cause\]: \[Circular\]/);
  assert.match(deep.stack, /level 499[^]*level 495/);
  assert.doesNotMatch(deep.stack, /level 400/);
});

test("a message that says nothing by itself names what lay behind it", async () => {
  const [any, own, refused, fetched, field, wide, said] = await errorsOf([
    `await Promise.any([Promise.reject(new Error("a is away")), Promise.reject({ status: 503 }), Promise.reject("text")]);`,
    `throw new AggregateError([new TypeError("one"), new Error("", { cause: new Error("two") })], "both failed");`,
    `throw Object.assign(new AggregateError(["::1", "127.0.0.1"].map((at) => Object.assign(new Error("connect ECONNREFUSED " + at + ":4"), { address: at, port: 4 }))), { code: "ECONNREFUSED" });`,
    `throw new TypeError("fetch failed", { cause: Object.assign(new Error("getaddrinfo ENOTFOUND nope.invalid"), { code: "ENOTFOUND", syscall: "getaddrinfo", hostname: "nope.invalid" }) });`,
    `throw Object.assign(new Error(), { code: "ECONNRESET" });`,
    `throw new AggregateError(Array.from({ length: 300 }, (_, n) => new Error("no. " + n)));`,
    `throw new TypeError("bad: inner", { cause: new Error("inner") });`,
  ]);
  assert.equal(any.message, "All promises were rejected: a is away; { status: 503 }; text");
  assert.match(any.stack, /\[errors\]: \[\s+Error: a is away\n[^]*\{ status: 503 \},\s+'text'/);
  assert.equal(own.message, "both failed: one; two");
  assert.equal(refused.message, "connect ECONNREFUSED ::1:4; connect ECONNREFUSED 127.0.0.1:4");
  assert.match(refused.stack, /code: 'ECONNREFUSED'[^]*address: '::1'[^]*port: 4/);
  assert.equal(fetched.message, "fetch failed: getaddrinfo ENOTFOUND nope.invalid");
  assert.match(fetched.stack, /\[cause\]: Error: getaddrinfo[^]*code: 'ENOTFOUND'[^]*hostname: 'nope\.invalid'/);
  assert.equal(field.message, "ECONNRESET");
  assert.match(wide.message, /^no\. 0; no\. 1; no\. 2; no\. 3; no\. 4; and 295 more$/);
  assert.match(wide.stack, /no\. 19\n[^]*… 280 more items/);
  assert.equal(said.message, "bad: inner");
});

test("a request that fails says why", async () => {
  const [name, refused, missing] = await errorsOf([
    `await fetch("http://nope.invalid/x");`,
    `await new Promise((_, no) => http.get({ host: "127.0.0.1", port: 1 }).on("error", no));`,
    `await fs.promises.readFile("/nowhere/x");`,
  ], `import http from "node:http"; import fs from "node:fs";`);
  assert.match(name.message, /^fetch failed: getaddrinfo (ENOTFOUND|EAI_AGAIN) nope\.invalid/);
  assert.match(refused.stack, /code: 'ECONNREFUSED'[^]*address: '127\.0\.0\.1',\s+port: 1/);
  assert.match(missing.stack, /code: 'ENOENT'[^]*path: '\/nowhere\/x'/);
});

test("a thrown value of any shape is shown as Node prints it", async () => {
  const cases = [
    [`throw { status: 404, body: { error: "gone", ids: [1, 2] } };`, "{ status: 404, body: { error: 'gone', ids: [ 1, 2 ] } }"],
    [`throw ["a", { b: null }];`, "[ 'a', { b: null } ]"],
    [`throw null;`, "null"],
    [`throw undefined;`, "undefined"],
    [`throw 12n;`, "12n"],
    [`throw Symbol("s");`, "Symbol(s)"],
    [`throw function named() {};`, "[Function: named]"],
    [`throw () => {};`, "[Function (anonymous)]"],
    [`throw class Gone {};`, "[class Gone]"],
    [`class Base {} throw class Gone extends Base {};`, "[class Gone extends Base]"],
    [`throw "";`, "''"],
    [`throw new String("boxed");`, "[String: 'boxed']"],
    [`throw Object(5n);`, "[BigInt: 5n]"],
    [`throw Object(Symbol("s"));`, "[Symbol: Symbol(s)]"],
    [`throw new Map([["a", { b: 1 }], ["token", "s3cret"]]);`, "Map(2) { 'a' => { b: 1 }, 'token' => [hidden] }"],
    [`throw new Set([1, "x", new Error("in a set")]);`, "Set(3) { 1, 'x', [Error: in a set] }"],
    [`throw vm.runInNewContext("new Map([[1, 2]])");`, "Map(1) { 1 => 2 }"],
    [`throw vm.runInNewContext("({ a: { b: [1] } })");`, "{ a: { b: [ 1 ] } }"],
    [`throw new Proxy({ status: 404 }, {});`, "{ status: 404 }"],
    [`throw { response: { status: 404, data: "s3cret", headers: {} }, config: { auth: "s3cret" } };`, "{ status: 404 }"],
    [`throw new Request("http://h/a?token=s3cret", { method: "PUT", headers: { authorization: "s3cret" } });`, "Request { method: 'PUT', url: 'http://h/a?token=[hidden]' }"],
    [`class Refusal { constructor() { this.code = 7; } } throw new Refusal();`, "Refusal { code: 7 }"],
    [`throw Object.create(null, { a: { value: 1, enumerable: true } });`, "{ a: 1 }"],
    [`throw new Response("x", { status: 418, headers: { "set-cookie": "s3cret" } });`, "Response { status: 418, statusText: '', url: '' }"],
    [`class Response { size = 0; get status() { return 503; } get statusText() { return "Away"; } get url() { return "http://h/?token=s3cret"; } } throw new Response();`, "Response { status: 503, statusText: 'Away', url: 'http://h/?token=[hidden]' }"],
    [`throw Object.assign(new http.IncomingMessage(), { statusCode: 502, statusMessage: "Bad Gateway", url: "http://h/x", body: "s3cret" });`, "IncomingMessage { status: 502, statusText: 'Bad Gateway', url: 'http://h/x' }"],
    [`class Quota { status = 429; url = "/x"; statusText = "full"; left = 0; } throw new Quota();`, "Quota { status: 429, url: '/x', statusText: 'full', left: 0 }"],
    [`const o = { n: 1 }; o.self = o; throw o;`, "{ n: 1, self: [Circular] }"],
    [`throw new Date(0);`, "1970-01-01T00:00:00.000Z"],
    [`throw Object.assign(new Event("close"), { code: 1006 });`, "Event { type: 'close', code: 1006 }"],
    [`throw { get bad() { throw new Error("hostile"); } };`, "{ bad: [Getter] }"],
    [`throw new Proxy({}, { get() { throw new Error("hostile"); }, has() { throw new Error("hostile"); } });`, "{}"],
    [`throw { message: { detail: "odd" } };`, "{ detail: 'odd' }"],
  ];
  const errors = await errorsOf(cases.map(([text]) => text), `import http from "node:http"; import vm from "node:vm";`);
  for (const [i, [text, shown]] of cases.entries()) {
    assert.equal(errors[i].message, shown, text);
    assert.ok(errors[i].stack.includes(shown), text);
  }
});

test("errors of other realms, frozen, behind proxies and with hostile fields are told as far as they let", async () => {
  const hostile = "{ get() { throw 1; }, has() { throw 2; }, getPrototypeOf() { throw 3; }, ownKeys() { throw 4; }, getOwnPropertyDescriptor() { throw 5; } }";
  const [realm, frozen, proxied, aggregate, closed, beneath, getter, unnamed, dom, suppressed, circle, answered] = await errorsOf([
    `vm.runInNewContext("throw Object.assign(new RangeError('of a realm', { cause: new Error('its cause') }), { code: 'E_VM' })");`,
    `throw Object.freeze(new Error("frozen", { cause: Object.freeze(new Error("ice")) }));`,
    `throw new Proxy(Object.assign(new Error("proxied"), { code: "E_PROXY" }), {});`,
    `vm.runInNewContext("throw new AggregateError([new AggregateError([new Error('inmost')])])");`,
    `throw new Proxy(new Error("closed"), ${hostile});`,
    `throw Object.setPrototypeOf({ a: 1 }, new Proxy({}, ${hostile}));`,
    `throw Object.defineProperties(new Error("seen"), { code: { enumerable: true, get() { throw 1; } }, cause: { get() { throw 2; } } });`,
    `throw Object.assign(new Error("m"), { name: 7, stack: Symbol("s") });`,
    `throw new DOMException("clone", { name: "DataCloneError", cause: new Error("because") });`,
    `throw Object.defineProperties(Object.assign(new Error("An error was suppressed during disposal."), { name: "SuppressedError" }), { error: { value: new Error("in close") }, suppressed: { value: new Error("in work") } });`,
    `const list = new AggregateError([], ""); list.errors.push(list, new Error("beside")); list.cause = list; throw list;`,
    `throw new Error("failed", { cause: { res: { statusCode: 429, body: ["s3", "cret"].join("") } } });`,
  ], `import vm from "node:vm";`);
  assert.equal(realm.code, "RangeError");
  assert.match(realm.stack, /RangeError: of a realm\n[^]*code: 'E_VM'[^]*\[cause\]: Error: its cause/);
  assert.match(frozen.stack, /Error: frozen\n[^]*\[cause\]: Error: ice/);
  assert.match(proxied.stack, /^Error: proxied\n\s+at [^]*code: 'E_PROXY'/);
  assert.equal(aggregate.message, "inmost");
  assert.equal(closed.message, "[Proxy]");
  assert.match(beneath.message, /\[a value that cannot be shown\]|a: 1/);
  assert.match(getter.stack, /^Error: seen\n[^]*code: \[Getter\]/);
  assert.deepEqual([unnamed.code, unnamed.stack], ["Error", "Error: m"]);
  assert.match(dom.stack, /^DataCloneError: clone\n[^]*\[cause\]: Error: because/);
  assert.equal(suppressed.message, "An error was suppressed during disposal.: in close; in work");
  assert.match(suppressed.stack, /error: Error: in close[^]*suppressed: Error: in work/);
  assert.equal(circle.message, "beside");
  assert.match(answered.stack, /\[cause\]: \{ status: 429 \}/);
  for (const error of [realm, answered]) assert.doesNotMatch(JSON.stringify(error), /s3cret/);
});

test("instances of classes that are data are shown with their fields, as Node prints them; clients and what carries functions are not", async () => {
  const classes = `
    class Inner { code = 5; when = new Date(0); list = [1, { a: 1 }]; get hostile() { throw new Error("hostile"); } }
    class ApiFault { status = 429; detail = new Inner(); token = "s3cret"; }
    class ValidationError { constructor(property, value, constraints) { Object.assign(this, { property, value, constraints, children: [] }); } }
    class Model { hook = () => {}; key = "s3cret"; }
    class ValidationErrorItem { message = "email cannot be null"; type = "notNull"; path = "email"; instance = new Model(); }
    class Bound { inner = { act() {} }; key = "s3cret"; }
    class Answered { response = { data: "s3cret" }; id = 1; }
    class Held { at = [new Bound()]; key = "s3cret"; }
    class Emits extends EventEmitter { key = "s3cret"; }
    class Discreet { key = "s3cret"; [inspect.custom]() { return "hidden"; } }
    class DbClient { key = "s3cret"; }
    class Lazy { n = 1; constructor() { Object.defineProperty(this, "late", { enumerable: true, get() { throw new Error("hostile"); } }); } }
    class Ring { n = 1; self = this; }
    class Many { all = Array.from({ length: 3000 }, (_, n) => ({ n })); }`;
  const inner = "Inner { code: 5, when: 1970-01-01T00:00:00.000Z, list: [ 1, { a: 1 } ] }";
  const cases = [
    [`throw { status: 429, detail: new Inner() };`, `{ status: 429, detail: ${inner} }`],
    [`throw [new ValidationError("email", "x", { isEmail: "no email" }), new ValidationError("password", "s3cret", {})];`,
      "[ ValidationError { property: 'email', value: 'x', constraints: { isEmail: 'no email' }, children: [] }, ValidationError { property: 'password', value: [hidden], constraints: {}, children: [] } ]"],
    [`throw new Map([["a", new ApiFault()]]);`, `Map(1) { 'a' => ApiFault { status: 429, detail: ${inner}, token: [hidden] } }`],
    [`throw [new Model(), new Bound(), new Answered(), new Held(), new Emits(), new Discreet(), new DbClient()];`, "[ [Model], [Bound], [Answered], [Held], [Emits], [Discreet], [DbClient] ]"],
    [`throw [new Lazy(), new Ring(), new Many()];`, "[ Lazy { n: 1, late: [Getter] }, Ring { n: 1, self: [Circular] }, [Many] ]"],
  ];
  const setup = `import { EventEmitter } from "node:events"; import { inspect } from "node:util"; ${classes}`;
  const [caused, listed, all, ...rest] = await errorsOf([
    `throw new Error("x", { cause: new ApiFault() });`,
    `throw Object.assign(new Error("refused"), { errors: [new ValidationErrorItem()] });`,
    `throw new AggregateError([new ApiFault()], "all");`,
    ...cases.map(([text]) => text),
  ], setup);
  assert.match(caused.stack, /\[cause\]: ApiFault \{\s+status: 429,\s+detail: Inner \{ code: 5,[^]*token: \[hidden\]/);
  assert.match(listed.stack, /\[errors\]: \[\s+ValidationErrorItem \{\s+message: 'email cannot be null',\s+type: 'notNull',\s+path: 'email',\s+instance: \[Model\]/);
  assert.match(all.stack, /\[errors\]: \[\s+ApiFault \{\s+status: 429/);
  for (const [i, [text, shown]] of cases.entries()) assert.equal(rest[i].message, shown, text);
  for (const error of [caused, all, ...rest]) assert.doesNotMatch(error.message + error.stack.replace(/^ +\d+ \| .*$/gm, ""), /s3cret/);
});

test("requests, responses and secrets of HTTP clients stay out at any depth, the status stays", async () => {
  const client = `const secret = ["s3", "cret"].join("");
    const failed = () => Object.assign(new Error("Request failed with status code 401"), {
    code: "ERR_BAD_REQUEST", body: '{"access_token":"s3cret","why":"expired"}', url: "https://u:s3cret@acme.test/a?api_key=s3cret&page=2",
    config: { url: "/x", headers: { Authorization: "Bearer s3cret" }, data: "s3cret" }, request: { path: "s3cret", socket: {} },
    response: { status: 401, headers: { "set-cookie": "s3cret" }, data: { token: "s3cret" }, config: { auth: "s3cret" } },
    last: { method: "POST", url: "/x", headers: {}, data: "s3cret" }, tried: [{ url: "/y", headers: {}, body: "s3cret" }],
    credentials: { user: "s3cret" }, apiKey: "s3cret", details: { client_secret: "s3cret", retry: 3 }, header: "Authorization: Bearer s3cret-s3cret" });
    class Client { constructor() { this.key = "s3cret"; } }`;
  const errors = await errorsOf([
    `throw failed();`,
    `throw new Error("outer", { cause: new Error("mid", { cause: failed() }) });`,
    `throw new AggregateError([failed(), { reason: failed() }, [failed()]], "all");`,
    `throw { error: failed(), status: 401, headers: { cookie: "s3cret" } };`,
    `throw { pwd: "s3cret", jwt: "s3cret", sessionId: "s3cret", sid: "s3cret", otp: "s3cret", pin: "s3cret", auth_code: "s3cret", tried: [{ path: ["user", "pin"], value: "s3cret" }], status: 401 };`,
    `throw { list: [{ inner: { e: failed() } }] };`,
    `throw Object.assign(new Error("with a client"), { client: new Client(), problem: { deeper: failed() } });`,
    `throw Object.assign(new Error(), { cause: { config: secret, reason: "down" } });`,
  ], client);
  for (const error of errors) assert.doesNotMatch(JSON.stringify(error), /s3cret/);
  for (const error of errors.slice(0, 5)) assert.match(error.stack, /status: 401/);
  assert.match(errors[0].stack, /why[^]*page=2[^]*details: \{ client_secret: \[hidden\], retry: 3 \}/);
  assert.match(errors[6].stack, /client: \[Client\]/);
  assert.equal(errors[7].message, "{ reason: 'down' }");
});

test("messages that clients make of addresses, headers and requests hold no secrets, and what they say besides stays", async () => {
  const [fetched, ky, graphql, redis, text, cause, plain] = await errorsOf([
    // node-fetch, ky and ofetch, graphql-request, ioredis.
    `throw Object.assign(new Error("request to https://u:" + s + "@acme.test/v1?api_key=" + s + "&page=2 failed, reason: connect ECONNREFUSED"), { name: "FetchError", type: "system", code: "ECONNREFUSED" });`,
    `throw new Error("Request failed with status code 404: GET https://acme.test/?access_token=" + s);`,
    `throw new Error('GraphQL Error (Code: 401): {"response":{"status":401},"request":{"variables":{"user":"u","password":"' + s + '"}}}');`,
    `throw Object.assign(new Error("WRONGPASS invalid username-password pair"), { command: { name: "auth", args: ["default", s] } });`,
    `throw "Authorization: Bearer " + s + s;`,
    `throw new Error("outer", { cause: new Error("GET https://acme.test/?sig=" + s + " failed") });`,
    `throw new Error("see https://acme.test/a?page=2 and //x/y@z; monkey=5");`,
  ], `const s = ["s3", "cret"].join("");`);
  for (const error of [fetched, ky, graphql, redis, text, cause]) assert.doesNotMatch(JSON.stringify(error), /s3cret/);
  assert.equal(fetched.message, "request to https://[hidden]@acme.test/v1?api_key=[hidden]&page=2 failed, reason: connect ECONNREFUSED");
  assert.match(fetched.stack, /^(Fetch)?Error: request to https:\/\/\[hidden\]@acme\.test[^\n]*ECONNREFUSED\n/);
  assert.equal(graphql.message, 'GraphQL Error (Code: 401): {"response":{"status":401},"request":[hidden]}');
  assert.match(redis.stack, /command: \{ name: 'auth', args: \[hidden\] \}/);
  assert.match(cause.stack, /\[cause\]: Error: GET https:\/\/acme\.test\/\?sig=\[hidden\] failed/);
  assert.equal(plain.message, "see https://acme.test/a?page=2 and //x/y@z; monkey=5");
});

test("addresses of hooks and bots are shown without what allows to post there, other addresses and files whole", async () => {
  const uuid = "5c7b0a6e-1f2d-4c3b-9a8e-7d6f5e4c3b2a";
  const cases = [
    ["https://api.telegram.org/bot123456:AAHdqTcvCH1vGWJxfSeofSAs0K5PALDsaw/sendMessage", "https://api.telegram.org/bot123456:[hidden]/sendMessage"],
    ["https://api.telegram.org/file/bot123456:AAHdqTcvCH1vGWJxf/photos/a.jpg", "https://api.telegram.org/file/bot123456:[hidden]/photos/a.jpg"],
    ["https://hooks.slack.com/services/T0000AB12/B0000CD34/abcdEFGH1234ijklMNOP5678", "https://hooks.slack.com/services/[hidden]/[hidden]/[hidden]"],
    ["https://u:s3cret@hooks.slack.com/triggers/T0000AB12/1234567890/0123456789abcdef", "https://[hidden]@hooks.slack.com/triggers/[hidden]/1234567890/[hidden]"],
    ["/services/T0000AB12/B0000CD34/XXXXXXXXXXXXXXXXXXXXXXXX", "/services/[hidden]/[hidden]/[hidden]"],
    ["https://discord.com/api/webhooks/123456789012345678/aB-cd_EF0123456789?wait=true", "https://discord.com/api/webhooks/[hidden]/[hidden]?wait=true"],
    ["https://hooks.zapier.com/hooks/catch/1234567/b2abcde/", "https://hooks.zapier.com/hooks/catch/1234567/[hidden]/"],
    [`https://acme.webhook.office.com/webhookb2/${uuid}@${uuid}/IncomingWebhook/0123456789abcdef/${uuid}`, "https://acme.webhook.office.com/webhookb2/[hidden]/IncomingWebhook/[hidden]/[hidden]"],
    [`https://outlook.office.com/webhook/${uuid}@${uuid}/IncomingWebhook/0123456789abcdef`, "https://outlook.office.com/webhook/[hidden]/IncomingWebhook/[hidden]"],
    ["https://chat.acme.test/hooks/xen3fk8dyjd5fbqtdx9bgx1msa", "https://chat.acme.test/hooks/[hidden]"],
    ["https://hook.eu1.make.com/abc123abc123abc123", "https://hook.eu1.make.com/[hidden]"],
    ...["/v1/webhooks", "/api/services/list", "/repos/o/r/hooks/12", "https://api.github.com/repos/o/r/hooks/123456789/deliveries", "https://acme.test/api/services/user-accounts?page=2", "https://acme.test/robots/bot12/x",
      "/tmp/hooks/build-1234/x", "file:///srv/hooks/abc12345678/x", "node_modules/a@1.2.3/services/oauth2client.js:12:5", "and/or"].map((text) => [text, text]),
  ];
  const texts = JSON.stringify(cases.map(([text]) => text));
  const [message, cause, field, url] = await errorsOf([
    `throw new Error(texts.join(" failed, "));`,
    `throw new Error("x", { cause: new Error(texts.join(" failed, ")) });`,
    `throw Object.assign(new Error("x"), { urls: texts.slice(0, 3), url: texts[4] });`,
    `throw { at: new URL(texts[2]), tried: texts[5] };`,
  ], `const texts = JSON.parse(Buffer.from("${Buffer.from(texts).toString("base64")}", "base64").toString());`);
  const shown = cases.map(([, text]) => text);
  assert.deepEqual(message.message.split(" failed, "), shown);
  assert.ok(message.stack.startsWith(`Error: ${message.message}\n`) && cause.stack.includes(`[cause]: Error: ${message.message}\n`), cause.stack);
  assert.deepEqual(field.stack.match(/'[^']*hidden[^']*'/g), [shown[0], shown[1], shown[2], shown[4]].map((text) => `'${text}'`));
  assert.equal(url.message, `{ at: ${shown[2]}, tried: '${shown[5]}' }`);
});

test("stacks, messages and output show no folder of the server", async () => {
  const code = `import { dirname } from "node:path"; import { fileURLToPath } from "node:url";
    export default { async run() {
      const own = fileURLToPath(import.meta.url);
      console.log(new Error("printed")); console.error("at", own); process.stdout.write(new Error("written").stack + "\\n"); console.trace("here");
      console.log({ nested: [new Error("nested", { cause: new Error("cause") })] });
      throw new Error("in " + dirname(own) + "/data.txt", { cause: Object.assign(new Error("inner"), { path: own }) }); } };`;
  const frames = await run(code, source);
  const shown = frames.filter((frame) => frame.t === "log").map((frame) => frame.text);
  const { error } = done(frames);
  for (const text of [...shown, error.message, error.stack]) assert.doesNotMatch(text, /host-test-|host\.mjs|runtime\/dist/);
  assert.equal(error.message, "in data.txt");
  assert.match(shown[0], /^Error: printed\n\s+at .*m\.mjs:4/);
  assert.equal(shown[1], "at m.mjs");
  assert.match(error.stack, /path: 'm\.mjs'/);
});

test("what an expression throws is told as what code throws, whatever it is", async () => {
  const thrown = [
    [`const e = new Error("a"); Object.defineProperty(e, "message", { get() { throw 1; } }); throw e;`, "Error: [a message that cannot be read]"],
    [`throw new Proxy(new Error("p"), { get() { throw 1; }, getPrototypeOf() { throw 2; } });`, "Error: [Proxy]"],
    [`throw Object.assign(Object.create(null), { status: 500 });`, "Error: { status: 500 }"],
    [`throw Symbol("s");`, "Error: Symbol(s)"],
    [`throw { message: { toString() { throw 1; } } };`, "Error: { toString: [Function: toString] }"],
    [`class E extends Error { toJSON() { throw 1; } get name() { throw 2; } } throw new E("own");`, "Error: own"],
    [`const e = new Error("e"); e.name = Symbol("n"); throw e;`, "Error: e"],
    [`throw new AggregateError([null, Symbol("x")], "");`, "AggregateError: null; Symbol(x)"],
    [`throw undefined;`, "Error: undefined"],
  ];
  const host = await Host.load({ m: `globalThis.all = [${thrown.map(([text]) => `() => { ${text} }`).join(",\n")}]; export default { run() {} };` });
  try {
    for (const [i, [, said]] of thrown.entries()) {
      const { error } = done(await host.call(i + 1, workflow({ p: `{{all[${i}]()}}` })));
      assert.equal(error.message, `the expression {{all[${i}]()}} in the prop \`p\` of the step \`one\` failed: ${said}`);
    }
  } finally {
    host.end();
  }
});

test("an error of an expression in a value that holds a secret shows nothing of it", async () => {
  const secret = "sk_live_4242";
  const props = `{ t: { type: "string", secret: true }, r: { type: "http_request" }, p: { type: "string" } }`;
  const host = await Host.load({ m: `export default { props: ${props}, run() {} };` });
  const failing = [`{{ "${secret}" + steps.none.a }}`, `{{ JSON.parse("${secret}") }}`, `{{ ${secret} ${secret} }}`, `${secret}{{`, `${secret}{{horse}}`];
  try {
    let id = 0;
    for (const text of failing) {
      for (const given of [{ t: text }, { r: { url: "a", auth: { type: "bearer", token: text } } }]) {
        const { error } = done(await host.call(++id, workflow(given)));
        assert.match(error.message, /^an expression in the prop `[tr]` of the step `one` failed/);
        assert.doesNotMatch(JSON.stringify(error), new RegExp(`${secret}|horse`));
      }
    }
    // Of other values it is shown.
    const { error } = done(await host.call(++id, workflow({ p: failing[1] })));
    assert.match(error.message, new RegExp(secret));
  } finally {
    host.end();
  }
});

test("the stack of an error in an expression begins with the expression, and has no frames of Node or of this program that lead there", async () => {
  const host = await Host.load({ m: `globalThis.deep = (o) => o.a.b;\nexport default { run() { throw new Error("in code"); } };` });
  const stackOf = async (id, p) => done(await host.call(id, workflow({ p }))).error.stack;
  try {
    const [lone, among, parsed, called, closed, code] = [
      await stackOf(1, "{{steps.trigger.event\n  .body.x}}"), await stackOf(2, "a {{steps.q.x}} b"), await stackOf(3, "{{JSON.parse('{') + 'https://u:s3cret@h/'}}"),
      await stackOf(4, "{{[1].map(() => deep({}))}}"), await stackOf(5, "{{nope"), await stackOf(6, "plain"),
    ];
    const of = "(the prop `p` of the step `one`)";
    assert.ok(lone.split("\n").includes(`    at {{steps.trigger.event .body.x}} ${of} {`), lone);
    assert.ok(among.includes(`\n    at {{steps.q.x}} ${of} {\n  [cause]: [TypeError: Cannot read`), among);
    assert.match(parsed, /\n    at \{\{JSON\.parse[^\n]*\[hidden\]@h[^\n]*\n  \[cause\]: SyntaxError: [^\n]+\n      at JSON\.parse \(<anonymous>\)\n/);
    assert.match(called, /\n    at \{\{\[1\][^\n]+\n  \[cause\]: TypeError: [^\n]+\n      at (globalThis\.)?deep \(m\.mjs:1:30\)\n/);
    assert.ok(closed.endsWith(`\n    at {{nope ${of}`), closed);
    assert.match(code, /^Error: in code\n    at Object\.run \(m\.mjs:2:32\)\n[^\n]+$/);
    for (const stack of [lone, among, parsed, called, closed, code]) assert.doesNotMatch(stack, /node:|s3cret/);
  } finally {
    host.end();
  }
});

test("an expression that is nested too deep, or whose end is looked for too often, is refused, in few words", async () => {
  const host = await Host.load({ m: "export default { run() {} };" });
  try {
    const texts = [[`{{${"[".repeat(20_000)}${"]".repeat(20_000)}}}`, "nested too deep"], [`{{${"{a:".repeat(20_000)}1${"}".repeat(20_000)}}}`, "nested too deep"], [`{{(${"}} ".repeat(20_000)}`, "too many }}"]];
    for (const [i, [text, said]] of texts.entries()) {
      const { error } = done(await host.call(i + 1, workflow({ p: text })));
      assert.ok(error.message.includes(said) && error.message.length < 300, error.message.slice(0, 400));
    }
  } finally {
    host.end();
  }
});

test("nothing that tells of the process names the files of this program", async () => {
  const code = `import Module from "node:module"; import fs from "node:fs";
    const frames = () => new Error("x").stack.map((frame) => [frame.getFileName(), String(frame)]);
    export default { run() {
      const before = Error.prepareStackTrace;
      Error.prepareStackTrace = (_, trace) => trace;
      const own = frames();
      Error.prepareStackTrace = undefined;
      const plain = new Error("plain").stack;
      Error.prepareStackTrace = before;
      const file = process.report.writeReport("report.json"), written = fs.readFileSync(file, "utf8");
      fs.rmSync(file);
      process.report.reportOnFatalError = true;
      return { own, plain, after: new Error("after").stack, cache: Object.keys(Module._cache), paths: Object.entries(Module._pathCache), argv: [process.argv, process.execArgv, process.argv0],
        report: [process.report.getReport(), written, process.report.reportOnFatalError] };
    } };`;
  const { result } = done(await run(code, source));
  assert.ok(result.own.length > 1 && result.report[0].header.nodejsVersion === process.version);
  assert.match(result.plain, /^Error: plain\n    at .*run/);
  assert.equal(result.report[2], false);
  assert.doesNotMatch(JSON.stringify(result), /host\.cjs|worker\.cjs/);
});

test("a package that is missing names the author's file in its message, and in its stack once code reads it", async () => {
  const code = `import { createRequire } from "node:module"; const load = createRequire(import.meta.url);
    export default { run() { try { load("no-such-package"); } catch (e) { return [e.message, e.requireStack, e.stack]; } } };`;
  // Texts of sources may look like the map's own fields.
  const sourcesContent = ['{"sources":["false.mjs"]}', code, ""];
  const maps = { m: { version: 3, names: ['"sources":["false.mjs"]'], sources: ["a/node_modules/a/[x].js", 'own "]\\.mjs', "node_modules/b.js"], sourcesContent, mappings: "" } };
  const { result } = done(await run(code, source, { maps }));
  const [message, requireStack, stack] = result;
  assert.equal(message, `Cannot find module 'no-such-package'\nRequire stack:\n- ${requireStack[0]}`);
  assert.match(requireStack[0], /own "\]\\\.mjs$/);
  assert.ok(stack.startsWith(`Error: ${message}\n    at `), stack);
  assert.doesNotMatch(JSON.stringify(result), /host-test-/);
});
