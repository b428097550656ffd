/** Reader of JSON that somebody typed: its value, or line and column of its first mistake. */

import { changedNumber } from "./exact";
import { firstMistake } from "./offset";

/** The value, or the problem where there is none or it would not be what was typed. */
export function readJson(text: string): { value: unknown } | { problem: string } {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return { problem: jsonProblem(text) };
  }
  const changed = changedNumber(text);
  if (changed === undefined) return { value };
  return { problem: `${changed} is too large for a number. Allowed: the same in quotes, as text.` };
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
