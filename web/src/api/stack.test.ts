import { expect, it } from "vitest";
import { commonIndent, framesOf, linesAround, ownFrame } from "./stack";

const stack = `TypeError: asked to fail
    at lookUp (node_modules/acme/index.js:3:9)
    at Object.run (steps/greet.mjs:9:65)
        9 |     if (query?.fail !== undefined) throw new TypeError("asked to fail");
    at async steps/other.mjs:1:2
    at AsyncLocalStorage.run (node:async_hooks:346:14)`;

it("reads frames, and tells one's own from those of packages and the runtime", () => {
  expect(framesOf(stack)).toEqual([
    { name: "lookUp", file: "node_modules/acme/index.js", line: 3, column: 9, foreign: true },
    { name: "run", file: "steps/greet.mjs", line: 9, column: 65, foreign: false },
    { name: "", file: "steps/other.mjs", line: 1, column: 2, foreign: false },
    {
      name: "AsyncLocalStorage.run",
      file: "node:async_hooks",
      line: 346,
      column: 14,
      foreign: true,
    },
  ]);
  expect(ownFrame(framesOf(stack))?.file).toBe("steps/greet.mjs");
  expect(framesOf("no stack")).toEqual([]);
});

it("cuts lines around a place and moves them left", () => {
  const code = "a\n  b\n    c\n\n  d";
  expect(linesAround(code, 3, 1)).toEqual([
    { number: 2, text: "b", hot: false },
    { number: 3, text: "  c", hot: true },
    { number: 4, text: "", hot: false },
  ]);
  expect(commonIndent(code, 3, 1)).toBe(2);
  expect(linesAround(code, 99)).toEqual([]);
});
