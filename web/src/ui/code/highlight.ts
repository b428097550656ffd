/** Highlighting of code that is only shown; the parser comes when the first is. */

export type Token = { text: string; style: string };

/** Lines of the code, each as pieces with a style. */
export async function highlighted(
  code: string,
  language: "javascript" | "json",
): Promise<Token[][]> {
  const [{ classHighlighter, highlightCode }, parser] = await Promise.all([
    import("@lezer/highlight"),
    language === "json"
      ? import("@lezer/json").then((module) => module.parser)
      : import("@lezer/javascript").then((module) => module.parser.configure({ dialect: "ts" })),
  ]);
  const lines: Token[][] = [[]];
  highlightCode(
    code,
    parser.parse(code),
    classHighlighter,
    (text, style) => lines.at(-1)?.push({ text, style }),
    () => lines.push([]),
  );
  return lines;
}
