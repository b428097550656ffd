/** Lines of a text that another one does not have, and places where it had some that are gone. */

import { partsOf } from "./line-parts";

export type ChangedLine = { line: number; kind: "new" | "changed" | "gone" };

export async function changedLines(before: string, after: string): Promise<ChangedLine[]> {
  if (before === after) return [];
  const found: ChangedLine[] = [];
  let line = 1;
  let removed = false;
  for (const part of await partsOf(before, after)) {
    if (part.kind === "del") {
      removed = true;
      continue;
    }
    if (part.kind === "add") {
      const kind = removed ? "changed" : "new";
      for (let at = 0; at < part.lines.length; at += 1) found.push({ line: line + at, kind });
    } else if (removed) found.push({ line, kind: "gone" });
    removed = false;
    line += part.lines.length;
  }
  if (removed) found.push({ line: Math.max(1, line - 1), kind: "gone" });
  return found;
}
