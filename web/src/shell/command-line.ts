/** Command lines for a POSIX shell, as a person pastes them. Every value in one is quoted. Pure. */

declare const quotes: unique symbol;
/** Text that `line` made: a plain string is not accepted where a command is shown or copied. */
export type CommandLine = string & { readonly [quotes]: true };

/** Words that mean themselves. `=` and `~` at the start are expanded by some shells. */
const PLAIN = /^[\w./:@%+,-][\w./:@%+,=-]*$/;
/** Control and format characters: a terminal acts on them, or shows another order of the text. */
const UNSEEN = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/u;
const ESCAPED = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\\'!]/gu;

/** A value as one word. `$'…'` with octal bytes only where a character cannot stand as it is. */
export function quoted(value: string): string {
  if (PLAIN.test(value)) return value;
  if (!UNSEEN.test(value)) return `'${value.replaceAll("'", "'\\''")}'`;
  return `$'${value.replaceAll(ESCAPED, octal)}'`;
}

function octal(sign: string): string {
  if (sign === "\n") return "\\n";
  const bytes = [...new TextEncoder().encode(sign)];
  return bytes.map((byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}

/**
 * A template of a command line, one command to a line of the text. A value that begins with `-`
 * gets `--` before it, as it is no option, unless it belongs to one (`--name=`): options of the
 * text therefore stand before its values.
 */
export function line(text: TemplateStringsArray, ...values: readonly string[]): CommandLine {
  let made = text[0] ?? "";
  for (const [at, value] of values.entries()) {
    const command = made.slice(made.lastIndexOf("\n") + 1);
    const isOption = value.startsWith("-") && /\s$/.test(made) && !/\s--\s/.test(command);
    made += `${isOption ? "-- " : ""}${quoted(value)}${text[at + 1] ?? ""}`;
  }
  assertMade(made);
  return made;
}

/** Only this file makes one. */
function assertMade(text: string): asserts text is CommandLine {
  void text;
}

/** A request of `/v1` as `curl` makes it. `path` is its parts, as they are named. */
export function curlOf(
  method: "GET" | "POST",
  path: readonly string[],
  { query = {}, body }: { query?: Readonly<Record<string, string>>; body?: unknown } = {},
): CommandLine {
  const asked = new URLSearchParams(query).toString();
  const parts = path.map(encodeURIComponent).join("/");
  const url = `${window.location.origin}/v1/${parts}${asked === "" ? "" : `?${asked}`}`;
  const act =
    method === "GET"
      ? line`curl ${url} \\\n  -H "Authorization: Bearer $MILLRACE_API_KEY"`
      : line`curl -X ${method} ${url} \\\n  -H "Authorization: Bearer $MILLRACE_API_KEY"`;
  if (body === undefined) return act;
  const sent = line` \\\n  -H 'Content-Type: application/json' -d ${JSON.stringify(body)}`;
  const both = act + sent;
  assertMade(both);
  return both;
}
