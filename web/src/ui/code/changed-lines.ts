/** Lines of a text that another one does not have, and places where it had some that are gone. */

export type ChangedLine = { line: number; kind: "new" | "changed" | "gone" };

export async function changedLines(before: string, after: string): Promise<ChangedLine[]> {
  if (before === after) return [];
  const { diffLines } = await import("diff");
  const found: ChangedLine[] = [];
  let line = 1;
  let removed = false;
  for (const part of diffLines(before, after)) {
    const lines = part.value.replace(/\n$/, "").split("\n").length;
    if (part.removed) {
      removed = true;
      continue;
    }
    if (part.added) {
      const kind = removed ? "changed" : "new";
      for (let at = 0; at < lines; at += 1) found.push({ line: line + at, kind });
    } else if (removed) found.push({ line, kind: "gone" });
    removed = false;
    line += lines;
  }
  if (removed) found.push({ line: Math.max(1, line - 1), kind: "gone" });
  return found;
}
