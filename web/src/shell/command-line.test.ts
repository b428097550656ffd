import { execFileSync } from "node:child_process";
import { expect, test } from "vitest";
import { line, quoted } from "./command-line";

const KEYS = [
  "",
  "plain-key_1.a",
  'order 7; echo "pwned"',
  "it's $HOME `id` $(id) \\ * ? ~ # & | < >",
  "~root",
  "=ls",
  "two\nlines\n",
  "\u001b[201~\u0003; id\r\ttab ' \\ !! é",
  "\u202eturned\u2028 \u0085 \u{1f468}\u200d\u{1f469}",
];

test("a shell reads a quoted value as that one word", () => {
  for (const key of KEYS) {
    const command = line`printf '[%s]' ${key}`;
    expect(execFileSync("bash", ["-c", command], { encoding: "utf8" })).toBe(`[${key}]`);
  }
});

test("a control or format character never stands in a command as it is", () => {
  for (const key of KEYS) {
    if (/[\p{Cc}\p{Cf}\p{Zl}]/u.test(key))
      expect(quoted(key)).toMatch(/^\$'[^\p{Cc}\p{Cf}\p{Zl}]*'$/u);
  }
});

test("a value shaped like an option is none", () => {
  expect(line`millrace data-stores get ${"ds_1"} ${"--help"}`).toBe(
    "millrace data-stores get ds_1 -- --help",
  );
  expect(line`millrace x ${"-a"} ${"-b"}\nmillrace y ${"-c"} FILE`).toBe(
    "millrace x -- -a -b\nmillrace y -- -c FILE",
  );
  expect(line`millrace x --state=${"-a"} ${"b"}`).toBe("millrace x --state=-a b");
});

test("no command with a value is made but by `line`", () => {
  const files = import.meta.glob<string>("../**/*.{ts,tsx}", {
    query: "?raw",
    import: "default",
    eager: true,
  });
  const made = Object.entries(files).flatMap(([file, text]) =>
    [...text.matchAll(/(\w*)`(?:millrace |curl (?:-|\$\{))[^`]*\}/g)].map(([, tag]) => ({
      file,
      tag,
    })),
  );
  expect(made.length).toBeGreaterThan(10);
  const wrong = made.filter(({ file, tag }) => tag !== "line" && !file.includes(".test."));
  expect(wrong).toEqual([]);
  const inMarkup = Object.keys(files).filter((file) =>
    /<code[^>]*>\s*(?:curl|millrace) [^<{]*\{/.test(files[file] ?? ""),
  );
  expect(inMarkup).toEqual([]);
});
