// Code that code writes below /tmp, and loads from there.
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync } from "node:fs";
import Module from "node:module";
import { test } from "node:test";

import { done, run, source } from "./harness.mjs";

/** Calls `run` in a host whose files do not lie below /tmp, as a server's: what lies there beside its own folder is led as well. */
async function resultOf(code) {
  const { TMPDIR } = process.env;
  const folder = mkdtempSync("/var/tmp/host-test-");
  mkdirSync(`${folder}/tmp`);
  try {
    process.env.TMPDIR = folder;
    const ended = done(await run(code, source, { tmp: `${folder}/tmp` }));
    assert.equal(ended.error, undefined);
    return ended.result;
  } finally {
    if (TMPDIR === undefined) delete process.env.TMPDIR;
    else process.env.TMPDIR = TMPDIR;
    rmSync(folder, { recursive: true, force: true });
  }
}

test("code below /tmp is required by its path there, and imports what lies beside it", async () => {
  const code = `import fs from "node:fs"; import { createRequire } from "node:module"; const require = createRequire(import.meta.url);
    export default { async run() {
      fs.writeFileSync("/tmp/a.cjs", "module.exports = 3"); fs.writeFileSync("/tmp/b.cjs", "module.exports = require('/tmp/a.cjs') + require('./a.cjs')");
      fs.writeFileSync("/tmp/c.mjs", "export default 4"); fs.writeFileSync("/tmp/d.cjs", "module.exports = import('./c.mjs')");
      return [require("/tmp/b.cjs"), (await require("/tmp/d.cjs")).default];
    } };`;
  assert.deepEqual(await resultOf(code), [6, 4]);
});

// Node before 22.15 has no such hooks (docs/reference/compatibility.md).
test("code below /tmp imports by paths and addresses there", { skip: Module.registerHooks === undefined }, async () => {
  const code = `import fs from "node:fs"; const load = new Function("asked", "return import(asked)");
    export default { async run() {
      fs.writeFileSync("/tmp/a b.mjs", "export default import.meta.url.slice(-6)");
      fs.writeFileSync("/tmp/b.mjs", 'import { pathToFileURL } from "node:url"; import a from "/tmp/a b.mjs"; const b = await import(pathToFileURL("/tmp/a b.mjs") + "?1"); export default [a, b.default];');
      const missing = await load("/tmp/none.mjs").catch((error) => error.code);
      return [(await load("/tmp/b.mjs")).default, (await load("file:///tmp/b.mjs#2")).default, typeof (await load("node:fs")).default.readFileSync, missing];
    } };`;
  assert.deepEqual(await resultOf(code), [["0b.mjs", ".mjs?1"], ["0b.mjs", ".mjs?1"], "function", "ERR_MODULE_NOT_FOUND"]);
});
