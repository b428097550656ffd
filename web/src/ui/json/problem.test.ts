import { expect, it } from "vitest";
import { jsonProblem, placeOf, readPlainJson } from "./problem";

it("counts lines and columns from 1", () => {
  expect(placeOf("a\nbc", 3)).toEqual({ line: 2, column: 2 });
});

it("names the place and the reason", () => {
  expect(jsonProblem('{\n "a": integer}')).toBe(
    'Line 2, column 7: text must be in quotes. Did you mean "integer"?',
  );
  expect(jsonProblem("[1")).toBe("Line 1, column 3: the text ends too early.");
  expect(jsonProblem("[1;]")).toBe('Line 1, column 3: ";" is not expected here.');
});

it("refuses a number that would be another one", () => {
  expect(readPlainJson('{"id": 9007199254740993}')).toEqual({
    problem: "9007199254740993 is too large for a number. Put it in quotes, as text.",
  });
  expect(readPlainJson("[1e400]")).toHaveProperty("problem");
  expect(readPlainJson('{"id": "9007199254740993", "n": 0.5}')).toEqual({
    value: { id: "9007199254740993", n: 0.5 },
  });
});
