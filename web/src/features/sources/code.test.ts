import { describe, expect, it } from "vitest";
import { dedupeOf, hooksOf, packagesOf, pastedOf } from "./code";

const code = `
import { axios } from "@pipedream/platform";
import { XMLParser } from "fast-xml-parser@^4";
import app from "../../acme.app.mjs";
import "node:fs";
const lodash = require('lodash/fp');
export default {
  dedupe: "unique",
  hooks: {
    async deploy() {},
    activate: async () => {},
  },
};`;

it("names the packages of a code, with the versions that it pins", () => {
  expect(packagesOf(code)).toEqual([
    { name: "@pipedream/platform", version: undefined },
    { name: "fast-xml-parser", version: "^4" },
    { name: "lodash", version: undefined },
  ]);
});

it("names hooks and the strategy of dropping", () => {
  expect(hooksOf(code)).toEqual(["deploy", "activate"]);
  expect(hooksOf("export default { run() {} }")).toEqual([]);
  expect(dedupeOf(code)).toBe("unique");
});

describe("what is pasted", () => {
  it.each([
    ["https://example.com/a.mjs", { kind: "url", url: "https://example.com/a.mjs" }],
    [
      "https://x.test/sources?action=create&key=rss-new-item-in-feed",
      { kind: "key", key: "rss-new-item-in-feed" },
    ],
    [
      "https://x.test/sources?action=create&url=https%3A%2F%2Fe.test%2Fa.mjs",
      { kind: "url", url: "https://e.test/a.mjs" },
    ],
    ["new rows", { kind: "words", words: "new rows" }],
    ["export default { run() {} }", { kind: "code", code: "export default { run() {} }" }],
  ])("%s", (text, pasted) => {
    expect(pastedOf(text)).toEqual(pasted);
  });
});
