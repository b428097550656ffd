// @vitest-environment happy-dom
import { expect, test } from "vitest";
import { fits, piecesOf } from "./expressions";

test("pieces of the data never part a surrogate pair, and are as many as can be sent", () => {
  for (const before of ["", "x", "xy"]) {
    const data = before + "\u{1f600}".repeat(200_000);
    const pieces = piecesOf(data);
    expect(pieces.join("")).toBe(data);
    expect(pieces.every((piece) => !/[\ud800-\udbff]$/.test(piece))).toBe(true);
    expect(pieces.length > 40).toBe(false);
    expect(fits(data)).toBe(true);
  }
  expect(piecesOf("")).toEqual([]);
});
