/** Reader of JSON that somebody typed: its value, or line and column of its first mistake. */

import { changedNumber, readExact } from "~/json/exact";
import { firstMistake } from "./offset";

/** The value with its numbers as they were typed, or the problem where there is none. */
export function readJson(text: string): { value: unknown } | { problem: string } {
  try {
    return { value: readExact(text) };
  } catch {
    return { problem: jsonProblem(text) };
  }
}

/** The value in numbers of JavaScript, or the problem where there is none or one would change. */
export function readPlainJson(text: string): { value: unknown } | { problem: string } {
  const result = readJson(text);
  if ("problem" in result) return result;
  const changed = changedNumber(text);
  if (changed === undefined) return { value: JSON.parse(text) };
  return { problem: `${changed} is too large for a number. Put it in quotes, as text.` };
}

/** Line and column of a place in a text, both from 1. */
export function placeOf(text: string, offset: number): { line: number; column: number } {
  const before = text.slice(0, offset).split("\n");
  return { line: before.length, column: (before.at(-1)?.length ?? 0) + 1 };
}

export function jsonProblem(text: string): string {
  const offset = Math.max(0, firstMistake(text));
  const at = placeOf(text, offset);
  const rest = text.slice(offset);
  const word = /^[A-Za-z_][\w-]*/.exec(rest)?.[0];
  const why =
    word !== undefined
      ? `text must be in quotes. Did you mean "${word}"?`
      : rest === ""
        ? "the text ends too early."
        : `${JSON.stringify(rest.charAt(0))} is not expected here.`;
  return `Line ${at.line}, column ${at.column}: ${why}`;
}
