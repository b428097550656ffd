// Texts without the credentials within them: what is hidden, and what stays.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { transformSync } from "esbuild";

const { code } = transformSync(readFileSync(new URL("../src/masked.ts", import.meta.url), "utf8"), { loader: "ts" });
const { masked } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

/** Each of the texts as it is shown. */
function check(cases) {
  for (const [text, shown] of cases) assert.deepEqual([masked(text), masked(shown)], [shown, shown], text);
}
const whole = (texts) => check(texts.map((text) => [text, text]));

test("the password of an address is hidden whatever characters it has, up to the last @ before the host", () => {
  const passwords = ["SECRET", "SEC#RET", "SEC/RET", "SEC?RET", "SEC RET", 'SEC"RET', "SEC'RET", "SEC\nRET", "SEC@RET", "S@E/C#R@ET", "SEC[RET", "SEC^RET", "SEC%RET", "SEC//RET", "12SEC/RET"];
  const forms = ["postgres://u:~@db.example:5432/x", "mongodb+srv://u:~@cluster/x", "redis://:~@h:6379", "https://u:~@h:bad/", "smtp://me@x.test:~@h:587", "mysql://u:~@[::1]:3306/x"];
  for (const password of passwords) {
    for (const form of forms) {
      const [scheme, host] = [form.slice(0, form.indexOf("//") + 2), form.slice(form.lastIndexOf("@"))];
      for (const around of ["", "'", "(", "cannot connect to "]) {
        const text = `${around}${form.replace("~", () => password)}${around}`;
        assert.equal(masked(text), `${around}${scheme}[hidden]${host}${around}`, text);
      }
    }
  }
  check([
    ["postgres://u:123/RET@db.example:5432/x", "postgres://[hidden]@db.example:5432/x"],
    ["https://token@h.test/x", "https://[hidden]@h.test/x"],
    ["https://u:p@a.test/x, https://u:p@b.test/y", "https://[hidden]@a.test/x, https://[hidden]@b.test/y"],
    ["https://u:p@registry.test/@scope/pkg?mail=me@x.test", "https://[hidden]@registry.test/@scope/pkg?mail=me@x.test"],
    ["postgres://u:p@db.example:5432/x?application_name=a@b.test", "postgres://[hidden]@db.example:5432/x?application_name=a@b.test"],
    ["mongodb://u:p@a:27017,b:27017/db?appName=@c@", "mongodb://[hidden]@a:27017,b:27017/db?appName=@c@"],
  ]);
});

test("addresses with an @ in their path or query, ports and mail addresses stay", () => {
  whole([
    "https://x.test/@scope/pkg", "https://x.test:8080/@scope/pkg", "http://localhost:3000/?mail=me@x.test", "https://x.test/a?to=me@x.test#b@c",
    "http://[::1]:3000/@scope/pkg", "request to https://x.test:443 failed, ask admin@x.test", "https://x.test: unreachable, ask admin@x.test", "redis://h:6379 is away, ask admin@x.test",
    "file:///C:/a/me@x.test/a", "file:///srv/a@b/c.js:12:5", "git@github.com:o/r.git", "//x/y@z", "mailto:me@x.test", "npm:@scope/pkg@1.2.3",
  ]);
});

test("the value of a header that cannot be sent is hidden whole", async () => {
  for (const value of ["sk-live-SECRET\0", "Bearer SECRETabcdefgh\nrest-SECRET", 'Token SECRET\n"x"', "SECRET\r\n: a"]) {
    const calls = [() => new Headers().set("x-api-key", value), () => new Headers({ authorization: `${value}\n0` }), () => fetch("http://h.test", { headers: { authorization: `${value}\n0` } })];
    for (const call of calls) {
      const error = await (async () => call())().then(assert.fail, (error) => error);
      assert.ok(error.message.includes("SECRET"), error.message);
      assert.match(masked(error.message), /^Headers\.(set|append): \[hidden\] is an invalid header value\.$/);
    }
  }
  check([
    ["TypeError: Token SECRET\nx is not a legal HTTP header value", "TypeError: [hidden] is not a legal HTTP header value"],
    ["SECRET\nx is not a legal HTTP header value", "[hidden] is not a legal HTTP header value"],
  ]);
  whole(['Invalid character in header content ["authorization"]', 'Headers.append: "x y" is an invalid header name.']);
});

test("secrets in JSON within JSON are hidden at any depth, and what stands beside them stays", () => {
  for (const value of ["SECRET", 'SEC"RET', "SEC\\RET\\", "SEC'RET\n", { a: ["SECRET", "}"] }, ["SECRET"]]) {
    let [json, shown] = [JSON.stringify({ a: 1, access_token: value, b: "x" }), JSON.stringify({ a: 1, access_token: "~", b: "x" })];
    for (let depth = 0; depth < 4; depth++) {
      const quote = `${"\\".repeat(2 ** depth - 1)}"`;
      assert.equal(masked(json), shown.replace(`${quote}~${quote}`, typeof value === "string" ? `${quote}[hidden]${quote}` : "[hidden]"), json);
      [json, shown] = [json, shown].map((text) => JSON.stringify({ at: depth, body: text, ok: true }));
    }
  }
  check([
    ['{"pwd":"S","jwt":"S","bearer":"S","sessionId":"S","session_id":"S","sid":"S","otp":"S","passcode":"S","pin":"S","auth_code":"S","n":"x"}',
      '{"pwd":"[hidden]","jwt":"[hidden]","bearer":"[hidden]","sessionId":"[hidden]","session_id":"[hidden]","sid":"[hidden]","otp":"[hidden]","passcode":"[hidden]","pin":"[hidden]","auth_code":"[hidden]","n":"x"}'],
    ['{"why":"cut off","password":"SECRE', '{"why":"cut off","password":"[hidden]"'],
    ['bad: {"response":{"status":500,"error":"x"},"request":{"query":"{ a(b: \\"}\\") }","variables":{"card":"S"}}}', 'bad: {"response":{"status":500,"error":"x"},"request":[hidden]}'],
    ['{"e":"{\\"variables\\":{\\"card\\":\\"S\\"},\\"status\\":4}","headers":{"x-shop":"S"},"n":1}', '{"e":"{\\"variables\\":[hidden],\\"status\\":4}","headers":[hidden],"n":1}'],
  ]);
  whole(['{"code":"ECONNREFUSED","message":"no pin","opinion":"x","shipping":"y","spin":"z","side":"left","token":null,"request":"GET /","max_tokens":5}']);
});

test("secrets in objects as Node prints them within a message are hidden", async () => {
  const unhandled = (value) => {
    try {
      return new EventEmitter().emit("error", value);
    } catch (error) {
      return error.message;
    }
  };
  const long = `-----BEGIN\n${"SECRET0123456789\n".repeat(8)}-----END`;
  for (const secret of ["SECRET", "SEC'RET", `SEC'"RET`, "SEC\\RET", long]) {
    const texts = [unhandled({ code: 5, token: secret, n: "x" }), unhandled({ "x-api-key": secret, a: { sid: secret } }), unhandled(new Map([["token", secret]])), unhandled({ headers: { "x-shop": secret } })];
    for (const text of texts) assert.doesNotMatch(masked(text), /SEC|RET|BEGIN|END/, text);
    const diff = new assert.AssertionError({ actual: { a: 1, password: secret, z: "x" }, expected: { a: 2, password: `${secret}2`, z: "x" }, operator: "deepStrictEqual" });
    assert.doesNotMatch(masked(diff.message), /SEC|RET|BEGIN|END/, diff.message);
    assert.match(masked(diff.message), /a: 1[^]*z: 'x'/);
  }
  check([[unhandled({ code: 5, token: "SECRET" }), "Unhandled error. ({ code: 5, token: '[hidden]' })"]]);
  whole([unhandled({ code: "ECONNREFUSED", syscall: "connect", spin: "x" }), "Unexpected token: '<'", "Invalid pin: 'x' of the plug", "Unexpected token } in JSON", "(token) => { return 'x'; }"]);
});

test("secrets in queries, fragments and connection strings are hidden", () => {
  const names = ["pwd", "auth", "jwt", "session", "session_id", "sid", "otp", "hmac", "appid", "code", "api_key", "X-Amz-Signature"];
  check(names.flatMap((name) => [[`https://h.test/?a=1&${name}=SECRET&b=2`, `https://h.test/?a=1&${name}=[hidden]&b=2`], [`"https://h.test/?${name}=SECRET"`, `"https://h.test/?${name}=[hidden]"`]]));
  check([
    ["https://h.test/#access_token=SECRET&state=x", "https://h.test/#access_token=[hidden]&state=x"],
    ['{"u":"https://h.test/?a=1\\u0026token=SECRET"}', '{"u":"https://h.test/?a=1\\u0026token=[hidden]"}'],
    ["host=h user=u password=SECRET dbname=x", "host=h user=u password=[hidden] dbname=x"],
    ["password='SEC \\'RET' host=h", "password=[hidden] host=h"],
    ["Server=h;User Id=u;Password=SECRET", "Server=h;User Id=u;Password=[hidden]"],
    ['Server=h;Pwd="SEC RET";Database=x', "Server=h;Pwd=[hidden];Database=x"],
    ['{"dsn":"host=h password=SECRET"}', '{"dsn":"host=h password=[hidden]"}'],
    ["(client_secret=SECRET).", "(client_secret=[hidden])."],
  ]);
  whole(["https://h.test/?code=404&country_code=US&page=2", "failed with status code=404, code=ECONNREFUSED", "spin=5 opinion=x monkey=5", "token=undefined", "if (token===x) throw", "https://h.test/#section"]);
});

test("a long text takes no long time", () => {
  const texts = ["//a:", "https://a:", "postgres://a: ", "https://a:@", "\\", '"', "?key", "token=)", "token: '", "{", " ", "+ ", "token ", "[token", "password=", '\\"token\\":\\"', "Headers: ", "Error: "].map((part) => part.repeat(Math.ceil((16 << 10) / part.length)));
  for (const text of texts) {
    const began = performance.now();
    masked(text);
    assert.ok(performance.now() - began < 2000, text.slice(0, 20));
  }
});
