import { expect, it } from "vitest";
import { firstMistake } from "./offset";

it.each([
  ['{"a": [1, -2.5e3, "x\\n", true, null], "b": {}}', -1],
  [" [] ", -1],
  ['{"a": integer}', 6],
  ['{"a": 1,}', 8],
  ["[1 2]", 3],
  ["{", 1],
  ["", 0],
  ["01", 1],
  ['"a\nb"', 0],
  ["{} x", 3],
])("%j has its first mistake at %d", (text, at) => {
  expect(firstMistake(text)).toBe(at);
  const parses = () => JSON.parse(text);
  if (at === -1) expect(parses).not.toThrow();
  else expect(parses).toThrow();
});
