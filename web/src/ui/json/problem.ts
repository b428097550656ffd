/** Message about a text that is no JSON: line and column of its first mistake, and what is expected there. */

import { firstMistake } from "./offset";

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
