// Secrets in what the server gets of a thrown value: in no message, stack, name or field, whatever they came in.
import assert from "node:assert/strict";
import { test } from "node:test";

import { errorsOf } from "./harness.mjs";

const SECRET = "S3CRETvalue9876";
/** Joined when code runs, so that no line of the source holds it. */
const setup = `import { inspect } from "node:util"; const s = ["S3CRET", "value9876"].join("");
  const failed = () => Object.assign(new Error("Request failed with status code 401"), { code: "ERR_BAD_REQUEST",
    config: { headers: { "X-Api-Key": s, Authorization: "Bearer " + s }, data: JSON.stringify({ password: s }) } });`;

const holdsNone = (errors, of) => {
  for (const [i, error] of errors.entries()) for (const [field, text] of Object.entries(error)) assert.ok(!text.includes(SECRET), `${field} of ${of[i]}: ${text}`);
};

test("a secret behind a stack within a message is hidden, in the message, the stack and a cause", async () => {
  const texts = [
    `"sync failed: " + inspect(failed(), { depth: 9 })`,
    `"x " + failed().stack + "\\nsent: " + JSON.stringify({ password: s })`,
    `"x\\n    at y (z.js:1:2)\\n  password: " + s + "\\n    at y (z.js:1:2)"`,
    `"x\\n    at " + JSON.stringify({ password: s })`,
    `"x".repeat(9000) + "\\n    at y (z.js:1:2)\\n" + "y".repeat(5000) + JSON.stringify({ apiKey: s })`,
  ];
  const thrown = texts.flatMap((text) => [
    `throw new Error(${text});`,
    `throw new Error("outer", { cause: new Error(${text}) });`,
    `throw new AggregateError([new Error(${text})]);`,
    `throw Object.assign(new Error("outer"), { detail: ${text}, at: { text: ${text} } });`,
    // Neither stack begins with the message.
    `const e = new Error(${text}); void e.stack; e.message = "sync failed"; throw e;`,
    `throw Object.assign(new Error("m"), { stack: ${text} });`,
  ]);
  const errors = await errorsOf(thrown, setup);
  holdsNone(errors, thrown);
  const [first] = errors;
  assert.match(first.stack, /^Error: sync failed: Error: Request failed[^]*headers: \[hidden\]/);
  // The author's line is that of the throw, below the frames of the error itself.
  assert.match(first.stack, /\n    at [^\n]*m\.mjs:\d+:\d+\)\n +\d+ \|[^\n]*throw new Error\("sync failed/);
});

test("a message has its bound in the stack too, also where it holds a stack", async () => {
  const text = `"x\\n    at y (z.js:1:2)\\n" + "y".repeat(60_000)`;
  const [own, caused, renamed] = await errorsOf([
    `throw new Error(${text});`, `throw new Error("outer", { cause: new Error(${text}) });`, `const e = new Error(${text}); void e.stack; e.message = "short"; throw e;`,
  ]);
  for (const { stack } of [own, caused, renamed]) {
    assert.match(stack, /\[cut: \d+ more characters\]\s+at [^\n]*m\.mjs/);
    assert.ok(stack.length < (16 << 10) + 3000, String(stack.length));
  }
});

test("names and the names of fields hold no secret", async () => {
  const thrown = [
    `throw Object.assign(new Error("m"), { name: "password=" + s });`,
    `throw Object.assign(new Error("m"), { ["https://u:" + s + "@h.test/x"]: 1 });`,
    `throw new Map([["https://u:" + s + "@h.test/x", 1]]);`,
    `throw Object.assign(new Error("m"), { cmd: "run --password " + s, sent: "X-Api-Key: " + s });`,
    `throw Object.assign(new Error("m"), { spawnargs: ["--password", s, "-u", "user:" + s, "-H", "X-Api-Key: " + s, "-v", "https://h.test"] });`,
  ];
  const errors = await errorsOf(thrown, setup);
  holdsNone(errors, thrown);
  assert.match(errors[1].stack, /'https:\/\/\[hidden\]@h\.test\/x': 1/);
  assert.match(errors.at(-1).stack, /'--password',\s+\[hidden\],\s+'-u',\s+\[hidden\],\s+'-H',\s+'X-Api-Key: \[hidden\]',\s+'-v',\s+'https:\/\/h\.test'/);
});

test("the author's line shows no secret within it, and what is no secret stays", async () => {
  const hidden = [
    `await fetch("http://127.0.0.1:1/", {headers:{authorization:"Bearer ${SECRET}"}});`,
    `await fetch("http://127.0.0.1:1/", { headers: { "x-shop": "${SECRET}" } });`,
    `fail({ apiKey: '${SECRET}' });`,
    `fail({ "api_key" : "${SECRET}", 'token': \`${SECRET}\` });`,
    `const password = "${SECRET}"; fail(password);`,
    `const token = \`${SECRET}\`; fail(token);`,
    `const o = {}; o.clientSecret ??= '${SECRET}'; fail(o);`,
    `const o = {}; o["x-api-key"] = "${SECRET}"; fail(o);`,
    `const apiKey = process.env.NONE || "${SECRET}"; fail(apiKey);`,
    `const set = { setApiKey(v) { fail(v); } }; set.setApiKey("${SECRET}");`,
    `new Map().set("Authorization", "${SECRET}") && fail();`,
    `fail("X-Api-Key: ${SECRET}");`,
    `fail("https://u:${SECRET}@h.test/x?token=${SECRET}");`,
    `fail("sk_test_${SECRET}");`,
    `fail("${"x".repeat(100)}", { password: "${SECRET}${"y".repeat(100)}" });`,
  ];
  const whole = [
    `fail({ apiKey: process.env.NONE, password: undefined, token: fail.token });`,
    `const token = fail("users", 12, "application/json", "2026-01-01T00:00:00Z"); fail(token);`,
  ];
  const errors = await errorsOf([...hidden, ...whole], `function fail() { throw new RangeError("failed"); }`);
  holdsNone(errors, [...hidden, ...whole]);
  // `fail` is the first frame of the author; the line of what called it is shown by an error of its own.
  const caller = await errorsOf([...hidden, ...whole].map((line) => line.replace(/\bfail\(/, "null.fail(")));
  holdsNone(caller, [...hidden, ...whole]);
  for (const { stack } of caller.slice(0, hidden.length)) assert.match(stack, /\n +\d+ \|[^\n]*\[hidden\]/);
  for (const [i, { stack }] of caller.slice(hidden.length).entries()) assert.ok(stack.includes(`${whole[i].replace(/\bfail\(/, "null.fail(")}`), stack);
});

test("tokens that are known by their form are hidden wherever they stand in what is shown", async () => {
  // In parts, so that no scanner of the repository takes them for tokens that leaked; joined when code runs.
  const [letters, hex] = ["Ab1Cd2Ef3Gh4Ij5Kl6Mn7Op8Qr9St0Uv1Wx2Yz3", "0a1b2c3d4e5f60718293a4b5c6d7e8f9"];
  const tokens = [
    ["ey", "JhbGciOiJIUzI1NiJ9.", "eyJzdWIiOiIxMjM0NTY3ODkwIn0.", "dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U"], ["ey", "JhbGciOiJub25lIn0.", "eyJzdWIiOiIxMjM0In0."], ["ey", "JhbGciOiJkaXIifQ.", ".", letters, ".", letters, ".", letters],
    ["sk", "-", letters, letters], ["sk", "-proj-", letters], ["sk", "-ant-api03-", letters, "-", letters], ["sk", "_live_", letters], ["rk", "_test_", letters], ["whs", "ec_", letters],
    ["gh", "p_", letters], ["gh", "s_", letters], ["github", "_pat_", letters, "_", letters], ["gl", "pat-", letters], ["np", "m_", letters.slice(0, 36)], ["py", "pi-", letters, letters],
    ["xo", "xb-123456789012-123456789012-", letters], ["xo", "xe.xoxp-1-", letters], ["xa", "pp-1-A012-", letters], ["12345678", "90:AA", letters.slice(0, 33)],
    ["AK", "IA", "IOSFODNN7EXAMPLE".slice(0, 16)], ["AS", "IA", "QWERTY234567ABCD"], ["AI", "za", letters.slice(0, 35)], ["ya", "29.", letters], ["GOC", "SPX-", letters], ["dop", "_v1_", hex, hex],
    ["S", "G.", letters.slice(0, 22), ".", letters], ["key", "-", hex], ["pat", letters.slice(0, 14), ".", hex, hex], ["ntn", "_", letters, letters], ["lin", "_api_", letters], ["shp", "at_", hex], ["hv", "s.", letters], ["m", "r_", letters, "4"],
  ];
  const around = ['"request with " + t + " failed"', '"refused (" + t + ")."', "JSON.stringify({ text: 'used\\n' + t })", '"https://h.test/x/" + t', "t"];
  const thrown = tokens.flatMap((parts) => around.map((text) => `const t = ${JSON.stringify(parts)}.join(""); throw Object.assign(new Error(${text}), { detail: ${text} });`));
  const errors = await errorsOf(thrown);
  for (const [at, { message, stack }] of errors.entries()) {
    const token = tokens[Math.floor(at / around.length)].join("");
    // No part of it is left that is worth something.
    for (let from = 0; from + 8 <= token.length; from++) assert.ok(!`${message}${stack.replaceAll(/^ +\d+ \|.*$/gm, "")}`.includes(token.slice(from, from + 8)), `${token} in ${message}\n${stack}`);
    assert.match(message, /\[hidden\]/);
  }
  const [sentence] = errors;
  assert.equal(sentence.message, "request with [hidden] failed");
});

test("texts that only look a little like tokens stay", async () => {
  const whole = [
    "sk-SK is not a language of this shop", "class sk-cube-grid-item-with-a-long-name is missing", "ask-a-question-about-12-things-today", "cursor eyJpZCI6MTIzNDU2Nzg5fQ is over", "file eyJhbGc.json is empty", "sk_live_ is missing in the name", "pk_live_51HxQbLKZJ4n2eEXAMPLEkey is public",
    "ghp_ is how tokens begin", "branch ghp_short", "xoxo, the team", "AKIA is the begin of a key", "AKIAKO is a place", "no AIza here", "SG.1 and SG.2 are servers", "glpat-1", "npm_config_registry is not set", "npm_package_version", "secret_name is required",
    "request 4f9d2c1e-8a7b-4c3d-9e2f-1a2b3c4d5e6f failed", "commit 0a1b2c3d4e5f60718293a4b5c6d7e8f901234567 is gone", "order ord_Ab1Cd2Ef3Gh4Ij5Kl6Mn failed", "key-value pairs only", "at 12345678:AA", "m.module.mjs", "pat-a-cake.json", "hvs.example.com has no address", "run_0a1b2c3d4e5f60718293a4b5c6d7e8f9", "mr_smith is away",
  ];
  const errors = await errorsOf(whole.map((text) => `throw new Error(${JSON.stringify(text)});`));
  assert.deepEqual(errors.map(({ message }) => message), whole);
});
