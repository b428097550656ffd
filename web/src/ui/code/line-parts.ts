/** Lines that two texts share, and lines that one of them has alone, in a bounded amount of work. */

export type Part = { kind: "same" | "del" | "add"; lines: string[] };

/**
 * Edits up to which the shortest difference is searched for: the work grows with their square. Texts that differ
 * in more lines are shown as one replaced block.
 */
const EDITS_MAX = 600;
/** Lines that repeat cost more for each edit. */
const TIMEOUT_MS = 500;

/** `isSame` is a parameter for the test, which counts comparisons. */
export async function partsOf(
  before: string,
  after: string,
  isSame = (one: string, other: string) => one === other,
): Promise<Part[]> {
  const { diffArrays } = await import("diff");
  const [old, now] = [linesOf(before), linesOf(after)];
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && isSame(old[head] ?? "", now[head] ?? "")) head += 1;
  let tail = 0;
  while (tail < shortest - head && isSame(old.at(-1 - tail) ?? "", now.at(-1 - tail) ?? "")) {
    tail += 1;
  }
  const gone = old.slice(head, old.length - tail);
  const come = now.slice(head, now.length - tail);
  const options = { maxEditLength: EDITS_MAX, timeout: TIMEOUT_MS, comparator: isSame };
  const changes = diffArrays(gone, come, options);
  const middle: Part[] = changes?.map(({ added, removed, value }) => ({
    kind: added ? "add" : removed ? "del" : "same",
    lines: value,
  })) ?? [
    { kind: "del", lines: gone },
    { kind: "add", lines: come },
  ];
  return [
    { kind: "same" as const, lines: old.slice(0, head) },
    ...middle,
    { kind: "same" as const, lines: old.slice(old.length - tail) },
  ].flatMap((part) => (part.lines.length === 0 ? [] : [{ ...part, lines: part.lines.map(bare) }]));
}

/** Lines with their breaks: the last one differs where only one text ends with a break. */
function linesOf(text: string): string[] {
  return text.match(/[^\n]*\n|[^\n]+$/g) ?? [];
}

function bare(line: string): string {
  return line.endsWith("\n") ? line.slice(0, -1) : line;
}
