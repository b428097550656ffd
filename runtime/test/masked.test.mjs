// Texts without the credentials within them: what is hidden, and what stays.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { transformSync } from "esbuild";

const { code } = transformSync(readFileSync(new URL("../src/masked.ts", import.meta.url), "utf8"), { loader: "ts" });
const { masked } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

/** Each of the texts as it is shown. */
function check(cases) {
  for (const [text, shown] of cases) assert.equal(masked(text), shown, text);
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
    "file:///C:/Users/me@x.test/a", "file:///srv/a@b/c.js:12:5", "git@github.com:o/r.git", "//x/y@z", "mailto:me@x.test", "npm:@scope/pkg@1.2.3",
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

test("a long text takes no long time", () => {
  const texts = ["//a:", "https://a:", "postgres://a: ", "https://a:@", "\\", '"', "?key", "token=)", "token: '", "{", '\\"token\\":\\"', "Headers: ", "Error: "].map((part) => part.repeat(Math.ceil((16 << 10) / part.length)));
  for (const text of texts) {
    const began = performance.now();
    masked(text);
    assert.ok(performance.now() - began < 2000, text.slice(0, 20));
  }
});
