import { expect, test } from "vitest";
import { plainBlocks, plainText, tablesAsCode } from "./plain-markdown";

test("marks of Markdown are taken away, and underscores within names stay", () => {
  const text =
    "## Set **up**\n\nSee [the docs](https://example.com) for `api_key` and _others_,\nthen go on.";
  expect(plainBlocks(text)).toEqual([
    { kind: "p", lines: ["Set up"] },
    { kind: "p", lines: ["See the docs for api_key and others, then go on."] },
  ]);
});

test("items of lists stay lines", () => {
  expect(plainBlocks("Do:\n- one\n- two\n  goes on\n\n1. first\n2. second\n\nEnd")).toEqual([
    { kind: "p", lines: ["Do:"] },
    { kind: "ul", lines: ["one", "two goes on"] },
    { kind: "ol", lines: ["first", "second"] },
    { kind: "p", lines: ["End"] },
  ]);
});

test("a list shows the text in one line", () => {
  expect(plainText("Does **labels**. [See](https://example.com):\n\n- one\n- two")).toBe(
    "Does labels. See: one two",
  );
});

test("a table keeps its lines, without the rule below its head; code and other text stay", () => {
  expect(tablesAsCode("See:\n\n| a | b |\n|---|:-:|\n| 1 | 2 |\n\nEnd | of it")).toBe(
    "See:\n\n```\n| a | b |\n| 1 | 2 |\n```\n\nEnd | of it",
  );
  const code = "```\n| a |\n|---|\n```";
  expect(tablesAsCode(code)).toBe(code);
});
