/** Markdown without its marks, for lists, and until the parser is here; pure. */

/** A table, which plain Markdown has none of, as code: its lines stay lines. */
export function tablesAsCode(text: string): string {
  const lines = text.split("\n");
  const out: string[] = [];
  let isCode = false;
  for (let at = 0; at < lines.length; at += 1) {
    const line = lines[at] ?? "";
    if (/^\s*(```|~~~)/.test(line)) isCode = !isCode;
    const isTable = !isCode && line.includes("|") && TABLE_RULE.test(lines[at + 1] ?? "");
    if (!isTable) {
      out.push(line);
      continue;
    }
    out.push("```", line);
    for (at += 2; (lines[at] ?? "").includes("|"); at += 1) out.push(lines[at] ?? "");
    at -= 1;
    out.push("```");
  }
  return out.join("\n");
}

/** The line below the head of a table. */
const TABLE_RULE = /^\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?$/;

export type Block = { kind: "p" | "ul" | "ol"; lines: string[] };

/** Paragraphs and lists of the text, so that they take the place that the parsed ones will. */
export function plainBlocks(text: string): Block[] {
  const blocks: Block[] = [];
  let ended = true;
  for (const line of text.split("\n")) {
    const item = /^\s*([-*+]|\d+[.)])\s+(.*)$/.exec(line);
    const kind = item === null ? "p" : /\d/.test(item[1] ?? "") ? "ol" : "ul";
    const words = withoutMarks(item?.[2] ?? line);
    const last = blocks.at(-1);
    if (line.trim() === "") ended = true;
    else if (
      last === undefined ||
      (last.kind !== kind && (ended || item !== null)) ||
      (ended && kind === "p")
    ) {
      blocks.push({ kind, lines: [words] });
      ended = false;
    } else if (item === null) {
      // A paragraph or an item goes on.
      last.lines.push(`${last.lines.pop() ?? ""} ${words}`);
    } else {
      last.lines.push(words);
      ended = false;
    }
  }
  return blocks;
}

/** The text in one line, for lists. */
export function plainText(text: string): string {
  return plainBlocks(text)
    .flatMap(({ lines }) => lines)
    .join(" ");
}

function withoutMarks(line: string): string {
  return line
    .replace(/^\s*(#{1,6}|>)\s+/, "")
    .replace(/!?\[([^\]]*)\]\([^)]*\)/g, "$1")
    .replace(/<(https?:[^>]*)>/g, "$1")
    .replace(/\*+|`+|(?<![\p{L}\p{N}])_+|_+(?![\p{L}\p{N}])/gu, "")
    .trim();
}
