/** Lines of a unified difference, with the words that changed within a line marked. */

import { partsOf } from "./line-parts";

export type Piece = { text: string; marked: boolean };

export type DiffLine =
  | { kind: "same" | "del" | "add"; before: number | null; after: number | null; pieces: Piece[] }
  | { kind: "fold"; count: number };

/** Unchanged lines that stay around each change. */
const AROUND = 3;
/** Larger blocks are new text: which of their words are new is of no use, and costs for each line. */
const WORDED_LINES_MAX = 100;
/** Longer lines are compared at their ends alone. */
const WORDED_LENGTH_MAX = 1_000;
const WORDED_EDITS_MAX = 200;
/** A piece of a line that is longer is shown by its ends: a browser lays out no line of a megabyte. */
const SHOWN_MAX = 2_000;
const END_SHOWN = 400;

export async function differenceOf(before: string, after: string): Promise<DiffLine[]> {
  const words = await wordsOf();
  const lines: DiffLine[] = [];
  let [old, now] = [1, 1];
  const parts = await partsOf(before, after);
  for (const [index, { kind, lines: texts }] of parts.entries()) {
    const pair = kind === "same" ? undefined : parts[kind === "del" ? index + 1 : index - 1];
    const isPaired = pair !== undefined && pair.kind !== "same" && pair.kind !== kind;
    const others = isPaired && texts.length <= WORDED_LINES_MAX ? pair.lines : [];
    for (const [at, text] of texts.entries()) {
      const other = others[at];
      lines.push({
        kind,
        before: kind === "add" ? null : old,
        after: kind === "del" ? null : now,
        pieces: (other === undefined ? [{ text, marked: false }] : words(other, text)).map(
          ({ text, marked }) => ({ text: shortened(text), marked }),
        ),
      });
      if (kind !== "add") old += 1;
      if (kind !== "del") now += 1;
    }
  }
  return folded(lines);
}

/** Marks in a line what its counterpart does not have. */
async function wordsOf(): Promise<(other: string, text: string) => Piece[]> {
  const { diffWordsWithSpace } = await import("diff");
  return (other, text) => {
    const isShort = Math.max(other.length, text.length) <= WORDED_LENGTH_MAX;
    const words = isShort
      ? diffWordsWithSpace(other, text, { maxEditLength: WORDED_EDITS_MAX })
      : undefined;
    return (
      words
        ?.filter((word) => !word.removed)
        .map((word) => ({ text: word.value, marked: word.added })) ?? middleOf(other, text)
    );
  };
}

/** A line of which all between what both share at their ends is marked. */
function middleOf(other: string, text: string): Piece[] {
  const shortest = Math.min(other.length, text.length);
  let head = 0;
  while (head < shortest && other[head] === text[head]) head += 1;
  let tail = 0;
  while (tail < shortest - head && other.at(-1 - tail) === text.at(-1 - tail)) tail += 1;
  const end = text.length - tail;
  return [
    { text: text.slice(0, head), marked: false },
    { text: text.slice(head, end), marked: true },
    { text: text.slice(end), marked: false },
  ].filter((piece) => piece.text !== "");
}

function shortened(text: string): string {
  if (text.length <= SHOWN_MAX) return text;
  const left = (text.length - 2 * END_SHOWN).toLocaleString("en");
  return `${text.slice(0, END_SHOWN)} … ${left} characters … ${text.slice(-END_SHOWN)}`;
}

/** Long unchanged stretches become one line that says how many there are. */
export function folded(lines: readonly DiffLine[]): DiffLine[] {
  const near = new Set<number>();
  for (const [index, line] of lines.entries()) {
    if (line.kind === "same") continue;
    for (let at = index - AROUND; at <= index + AROUND; at += 1) near.add(at);
  }
  const shown: DiffLine[] = [];
  let hidden = 0;
  for (const [index, line] of lines.entries()) {
    if (near.has(index)) {
      if (hidden > 0) shown.push({ kind: "fold", count: hidden });
      hidden = 0;
      shown.push(line);
    } else hidden += 1;
  }
  if (hidden > 0 && shown.length > 0) shown.push({ kind: "fold", count: hidden });
  return shown;
}
