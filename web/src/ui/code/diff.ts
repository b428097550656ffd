/** Lines of a unified difference, with the words that changed within a line marked. */

export type Piece = { text: string; marked: boolean };

export type DiffLine =
  | { kind: "same" | "del" | "add"; before: number | null; after: number | null; pieces: Piece[] }
  | { kind: "fold"; count: number };

/** Unchanged lines that stay around each change. */
const AROUND = 3;

export async function differenceOf(before: string, after: string): Promise<DiffLine[]> {
  const { diffLines, diffWordsWithSpace } = await import("diff");
  const lines: DiffLine[] = [];
  let [old, now] = [1, 1];
  const parts = diffLines(before, after);
  for (const [index, part] of parts.entries()) {
    const texts = part.value.replace(/\n$/, "").split("\n");
    if (!part.added && !part.removed) {
      for (const text of texts) {
        lines.push({ kind: "same", before: old, after: now, pieces: [{ text, marked: false }] });
        old += 1;
        now += 1;
      }
      continue;
    }
    const pair = parts[part.removed ? index + 1 : index - 1];
    const paired = part.removed ? pair?.added : pair?.removed;
    const others = paired ? (pair?.value.replace(/\n$/, "").split("\n") ?? []) : [];
    for (const [at, text] of texts.entries()) {
      const other = others[at];
      const pieces =
        other === undefined
          ? [{ text, marked: false }]
          : diffWordsWithSpace(part.removed ? text : other, part.removed ? other : text)
              .filter((word) => (part.removed ? !word.added : !word.removed))
              .map((word) => ({ text: word.value, marked: word.added || word.removed }));
      lines.push({
        kind: part.removed ? "del" : "add",
        before: part.removed ? old : null,
        after: part.removed ? null : now,
        pieces,
      });
      if (part.removed) old += 1;
      else now += 1;
    }
  }
  return folded(lines);
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
