// Texts without the credentials within them: what is hidden, and what stays.
import assert from "node:assert/strict";
import { EventEmitter } from "node:events";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { inspect } from "node:util";
import { transformSync } from "esbuild";

const { code } = transformSync(readFileSync(new URL("../src/masked.ts", import.meta.url), "utf8"), { loader: "ts" });
const { BARE_NAME, HEADER, masked, maskedSource, REST_OF_LINE, WORD } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

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

test("a value that stands bare behind the name of a secret is hidden, in each notation, quoted or not", () => {
  const S = "S3CRET-value9876";
  const texts = [
    "GET / HTTP/1.1\r\nHost: x\r\nX-Api-Key: ~\r\nAccept: y\r\n\r\n", "POST / HTTP/1.1\r\nAuthorization: Digest username=\"u\", response=\"~\"\r\n\r\n", "HTTP/1.1 200 OK\r\nset-cookie: session=~; Path=/\r\n",
    "Cookie: a=\"1\"; b=~", "x-api-key:~", "sent X-Api-Key: ~ and got 401", "sent Authorization: Token ~", "> authorization: Token ~\n< HTTP/1.1 401", "headers:\n  x-auth-token: ~\n  accept: y",
    `curl -H "X-Api-Key: ~" https://h.test`, "curl -H 'Authorization: Token ~' https://h.test", "curl -u user:~ https://h.test", "curl --user 'user:~' https://h.test", "config:\n  - password: ~\n    api_key: ~",
    "password: a ~", "password: ~!", "password: it's~", "{user: u, password: ~}", "[database]\npassword = ~\nuser = u", "db.password = ~", `token = "~"`, "secret_key = '~'", "failed: password: ~",
    "<soap><apiKey>~</apiKey></soap>", `<wsse:Password Type="x#PasswordText">~</wsse:Password>`, "<token><![CDATA[~]]></token>", "<Secret>a &lt; ~</Secret>", "<password>~",
    "run --password ~ --verbose", "run --api-key '~' x", 'run --client-secret "a ~" x', "run -token ~", '["--password","~"]', "spawnargs: [ '--password', '~' ]",
    "{'user': 'u', 'password': u'~'}", `{"password": b"~"}`, `{:password=>"~", :user=>"u"}`, `{:password => "~"}`, '{"auth":["user","~"]}', "{ auth: [ 'user', '~' ] }", "{auth:{user:'u',x:'~'}}",
    "-----BEGIN RSA PRIVATE KEY-----\n~\n-----END RSA PRIVATE KEY-----", "-----BEGIN PRIVATE KEY-----\n~", "const password = `~`", "this.#apiKey = '~'",
  ];
  const around = [(text) => text, (text) => `Error: ${text}`, (text) => `failed\n${text}\nelsewhere`, (text) => JSON.stringify({ at: 1, body: text, n: 2 }), (text) => inspect({ _header: text }), (text) => inspect(new Error(text))];
  for (const text of texts) {
    for (const wrap of around) {
      const given = wrap(text.replaceAll("~", S));
      assert.ok(!masked(given).includes(S) && masked(given).includes("[hidden]"), `${given}\n→ ${masked(given)}`);
      assert.equal(masked(masked(given)), masked(given));
    }
  }
  check([
    ["GET / HTTP/1.1\r\nX-Api-Key: SECRET\r\nAccept: y\r\n", "GET / HTTP/1.1\r\nX-Api-Key: [hidden]\r\nAccept: y\r\n"],
    [`curl -H "X-Api-Key: SECRET" https://h.test`, `curl -H "X-Api-Key: [hidden]" https://h.test`],
    ["{user: u, password: SECRET, n: 1}", "{user: u, password: [hidden], n: 1}"],
    ["sent X-Api-Key: SECRET and got 401", "sent X-Api-Key: [hidden] and got 401"],
    ['{"msg":"sent Authorization: Token SECRET9","status":401}', '{"msg":"sent Authorization: [hidden]","status":401}'],
    ["run --password SECRET --verbose", "run --password [hidden] --verbose"],
    ["-----BEGIN PRIVATE KEY-----\nSECRET\n-----END PRIVATE KEY-----\nat x", "-----BEGIN PRIVATE KEY-----[hidden]-----END PRIVATE KEY-----\nat x"],
    ["<a><apiKey>SECRET</apiKey><b>1</b></a>", "<a><apiKey>[hidden]</apiKey><b>1</b></a>"],
  ]);
});

test("prose, numbers, states and code that name a secret stay", () => {
  whole([
    "invalid password: must be at least 8 characters", "password: must be at least 8 characters", "api_key: field required", "accessToken: Expected string, received undefined", "X-Api-Key: this header is required",
    "User validation failed: password: Path `password` is required.", "Invalid token: 4f", "token: expired", "access_token: Required", "max_tokens: 4096\nprompt_tokens: 12", "{ hasToken: true, token: null, tokens: 5 }",
    "JsonWebTokenError: malformed-1", "TokenExpiredError: jwt expired", "get_token.mjs:12:5", "at getToken (m.mjs:3:4)", "unknown option --password in x.json", "--token is required", "docker run -u 1000:1000 x",
    "Promise<Token> failed", "x as Map<Secret, 1>", "-----BEGIN CERTIFICATE-----\nAB1\n-----END CERTIFICATE-----", "secret://a/b", "the cookie: it was stale", "(token) => 5", "[auth] failed", "Pin::new(&x) of ApiKeyOut::show(y)", "const session_token = next(x)", "send `Authorization: Bearer <api key>`", "api_key: ****", "auth failed: { status: 401 }",
  ]);
});

test("lines of source text are hidden within their strings alone", () => {
  const S = "S3CRET";
  for (const line of [`f({ password: "~" })`, `f({apiKey:'~'})`, "f({ token: `~` })", `f({ headers: { "x-shop": "~" } })`, `const password = "~";`, `setPassword("~")`, `h.set("Authorization", '~')`, `x.token ||= "~"`, `f("X-Api-Key: ~")`, `f("sync X-Api-Key: ~")`, `f('it\\'s ' + 'of x-api-key: ~')`, `f({ password: "~`]) {
    const given = line.replace("~", S);
    assert.ok(!maskedSource(given).includes(S) && maskedSource(given).includes("[hidden]"), `${given}\n→ ${maskedSource(given)}`);
  }
  for (const line of ["f({ apiKey: process.env.KEY, password });", "const token: string = await getToken(user);", "if (token === other.token) throw new Error('different');", "type A = { password: string; secret?: Buffer };", "f(`sent X-Api-Key: ${key}`)", "f('a', options.apiKey: key)"]) assert.equal(maskedSource(line), line);
});

test("names before bare values repeat a bounded number of times, and their scan never goes back", () => {
  // A name is tried once at each begin of a word: with bounds alone, the work for a character is bounded.
  assert.doesNotMatch(BARE_NAME.source, /[*+]|\{\d+,\}/);
  assert.ok(BARE_NAME.source.startsWith("(?<![\\w$.-])"));
  // A value is a run of single characters, and what stands before them is looked at a bounded number of times.
  for (const run of [HEADER, REST_OF_LINE, WORD]) {
    const [, each] = /^\(\?:([^]*)\)\*$/.exec(run.source);
    assert.doesNotMatch(each.replace(/\[(?:[^\]\\]|\\.)*\]/g, ""), /[*+]|\{\d+,\}/);
  }
});

test("a long text takes no long time", () => {
  const texts = ["//a:", "https://a:", "postgres://a: ", "https://a:@", "\\", '"', "?key", "token=)", "token: '", "{", " ", "+ ", "token ", "[token", "password=", '\\"token\\":\\"', "Headers: ", "Error: ", "x-token:", "x-token: 1 ", "x-token: a b ", "'pin: x\n", "token = ", "--token ", "<token>", "<token><![CDATA[", "-----BEGIN PRIVATE KEY-----", "-u a:", "x-token: \\", "'pin: 1'", "eyJ", "eyJaaaaaaaaa.", "eyJaaaaaaaaa.aaaaaaaaa", "sk-", "sk-aaaaaaaaaaaaaaaaaaaa ", "xoxb-.", "SG.aaaaaaaaaaaaaaaaa", "\\n12345678", "MMMMMMMM", "a-"].map((part) => part.repeat(Math.ceil((16 << 10) / part.length)));
  for (const text of texts) {
    const began = performance.now();
    masked(text);
    assert.ok(performance.now() - began < 2000, text.slice(0, 20));
  }
});
