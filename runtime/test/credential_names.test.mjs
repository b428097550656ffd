// Names of headers, parameters and fields that say that their values are credentials.
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";
import { transformSync } from "esbuild";

const read = (path) => readFileSync(new URL(path, import.meta.url), "utf8");
const { code } = transformSync(read("../src/credential_names.ts"), { loader: "ts" });
const { isCredentialName } = await import(`data:text/javascript;base64,${Buffer.from(code).toString("base64")}`);

test("names of credentials are told from others", () => {
  const { credentials, others } = JSON.parse(read("credential_names.json"));
  assert.ok(credentials.length >= 30 && others.length >= 30);
  assert.deepEqual(credentials.filter((name) => !isCredentialName(name)), []);
  assert.deepEqual(others.filter(isCredentialName), []);
});
