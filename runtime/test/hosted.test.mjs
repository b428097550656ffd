// Requests to the hosted platform are asks, and what that takes of Node is loaded only where code may come to it.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

import { Host, run, source } from "./harness.mjs";

/** The line that the bundler puts before each module. */
const BANNER = readFileSync(new URL("../../crates/bundle/src/workshop.rs", import.meta.url), "utf8").match(/BANNER: &str = r#"(.*)"#;/)[1];

const module = (top, body) => `${BANNER}\n${top}\nexport default { async run() { ${body} } };`;
const loads = async (top, body = "") => (await run(module(top, `${body} return process.moduleLoadList.includes('NativeModule htt' + 'ps');`), source)).at(-1).result;

test("HTTPS is loaded only for code that may come to it", async () => {
  for (const top of ["", "import fs from 'node:fs'; fs.existsSync('https://x');", "const fs = require('fs');", "const required = 1;"]) assert.equal(await loads(top), false, top);
  const ways = ["import https from 'node:https';", "const load = require;", "const name = 'fs'; require( name );", "require('f' + 's');", "require('./none.js');", "import('file:///tmp/none.mjs').catch(() => {});"];
  ways.push("process.getBuiltinModule?.('fs');", "eval('1');", "new Function('return 1');", "import { createRequire } from 'module'; createRequire('/');");
  for (const way of ways) assert.equal(await loads(way.startsWith("require('.") ? `try { ${way} } catch {}` : way), true, way);
});

test("a request to the hosted platform is an ask, however code came to HTTPS", async () => {
  const ways = ["import https from 'node:https';", "const load = require; const https = load('ht' + 'tps');", "const { default: https } = await import('ht' + 'tps');", "const https = eval('req' + 'uire(\"ht\" + \"tps\")');"];
  for (const way of ways) {
    const host = await Host.load({ m: module(way, "return await new Promise((done, fail) => https.get('https://api.pipedream.com/v1/x', (got) => done(got.statusCode)).on('error', fail));") });
    try {
      host.send({ t: "call", id: 1, deadline_ms: 5000, module: "m", props: {}, ...source });
      const asked = await host.until((frame) => frame.t === "ask" || frame.t === "done");
      assert.deepEqual([asked.kind, asked.payload?.path], ["platform.request", "/v1/x"], way);
      host.send({ t: "answer", id: 1, ask: asked.ask, ok: true, value: { status: 203, content_type: "text/plain", body: "x" } });
      assert.equal((await host.until((frame) => frame.t === "done")).result, 203, way);
    } finally {
      host.end();
    }
  }
});
