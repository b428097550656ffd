/** Words of a pasted command line: those of a shell, of PowerShell and of the Windows command prompt. Pure. */

export type Command = {
  words: string[];
  /** Variables and commands that the shell would put in: `$TOKEN`. */
  expands: string[];
  /** Whether another `curl` line follows. */
  hasMore: boolean;
};

/** A `curl` that begins a command behind the first one. */
const MORE = /^(?:\s|&&|&|;|\|\|)*(?:\$\s+)?curl(?:\.exe)?\s/;

/** `^` before a quote or at the end of a line, or quotes that are doubled in the place of `\"`. */
function isWindows(text: string): boolean {
  if (/\^"|\^[ \t]*\n/.test(text)) return true;
  const doubled = /[{,:[]""|""[:,}\]]/.test(text);
  return !text.includes("'") && (doubled || /^\s*curl\.exe\s/i.test(text));
}

/** The first command of a text, up to `|`, `;`, `&&`, or the end of its line. */
export function commandOf(text: string): Command {
  const plain = text.replaceAll("\r\n", "\n");
  if (isWindows(plain)) {
    return { words: windowsWords(withoutCarets(plain)), expands: [], hasMore: false };
  }
  return new Shell(plain).command();
}

/** Ends a command where it stands unquoted. A lone `&` or `;` in an address does not. */
const END = /(?:[|;]|&&|&)(?=\s|$)|\|/y;
const REDIRECTION = /\d*[<>]{1,2}(?:&\d+)?/y;
/** A line that goes on with an option or an address lost its backslash. */
const NEXT_LINE = /\n(?!\s*(?:-|["']?https?:))/y;
const EXPANDED = /\$\{[^}]*\}|\$\([^)]*\)|\$[A-Za-z_]\w*/y;

class Shell {
  private at = 0;
  private words: string[] = [];
  private word: string | undefined;
  private expands = new Set<string>();

  constructor(private readonly text: string) {}

  command(): Command {
    while (this.at < this.text.length) {
      const sign = this.text.charAt(this.at);
      if (this.word === undefined && this.take(/#[^\n]*(?:\n|$)/y) !== undefined) continue;
      if (this.words.length > 0 && this.ends()) break;
      if (this.word === undefined && this.take(REDIRECTION) !== undefined) this.skipWord();
      else if (sign === "'") this.put(this.quoted(/'([^']*)(?:'|$)/y));
      else if (this.text.startsWith("$'", this.at))
        this.put(unescaped(this.quoted(/\$'((?:[^'\\]|\\[\s\S])*)(?:'|$)/y)));
      else if (sign === '"' || this.text.startsWith('$"', this.at)) this.doubleQuoted();
      else if (sign === "\\" || (sign === "`" && this.text.charAt(this.at + 1) === "\n")) {
        if (this.text.charAt(this.at + 1) !== "\n") this.put(this.text.charAt(this.at + 1));
        this.at += 2;
      } else if (/\s/.test(sign)) {
        this.end();
        this.at += 1;
      } else if (!this.expanded()) {
        this.put(sign);
        this.at += 1;
      }
    }
    this.end();
    const hasMore = MORE.test(this.text.slice(this.at));
    return { words: this.words, expands: [...this.expands], hasMore };
  }

  private take(pattern: RegExp): RegExpExecArray | undefined {
    pattern.lastIndex = this.at;
    const found = pattern.exec(this.text);
    if (found === null) return undefined;
    this.at += found[0].length;
    return found;
  }

  private ends(): boolean {
    const from = this.at;
    const ends = this.take(END) ?? this.take(NEXT_LINE);
    this.at = from;
    return ends !== undefined;
  }

  private put(text: string): void {
    this.word = (this.word ?? "") + text;
  }

  private end(): void {
    if (this.word !== undefined) this.words.push(this.word);
    this.word = undefined;
  }

  private quoted(pattern: RegExp): string {
    return this.take(pattern)?.[1] ?? "";
  }

  private expanded(): boolean {
    const found = this.take(EXPANDED)?.[0];
    if (found === undefined) return false;
    this.put(found);
    this.expands.add(found);
    return true;
  }

  private doubleQuoted(): void {
    this.take(/\$?"/y);
    this.put("");
    while (this.at < this.text.length && this.text.charAt(this.at) !== '"') {
      if (this.expanded()) continue;
      const escaped = this.take(/\\(["\\$`\n])/y)?.[1];
      if (escaped === undefined) {
        this.put(this.text.charAt(this.at));
        this.at += 1;
      } else if (escaped !== "\n") this.put(escaped);
    }
    this.at += 1;
  }

  private skipWord(): void {
    this.take(/[ \t]*(?:'[^']*'|"[^"]*"|[^\s|;&])*/y);
  }
}

const ESCAPES: Readonly<Record<string, string>> = {
  a: "\x07",
  b: "\b",
  e: "\x1b",
  E: "\x1b",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
};

/** Content of `$'…'`; what is given by bytes is UTF-8. */
function unescaped(text: string): string {
  return text.replaceAll(
    /((?:\\x[\da-fA-F]{1,2}|\\[0-7]{1,3})+)|\\u([\da-fA-F]{1,4})|\\U([\da-fA-F]{1,8})|\\([\s\S])/g,
    (_, bytes?: string, short?: string, long?: string, sign?: string) => {
      if (bytes !== undefined) {
        const values = [...bytes.matchAll(/\\(?:x([\da-fA-F]+)|([0-7]+))/g)].map(
          ([, hex, octal]) => (hex === undefined ? parseInt(octal ?? "", 8) : parseInt(hex, 16)),
        );
        return new TextDecoder().decode(new Uint8Array(values));
      }
      const code = short ?? long;
      if (code !== undefined) {
        const point = parseInt(code, 16);
        // Halves of a pair follow one another.
        return point > 0x10ffff ? "\ufffd" : String.fromCodePoint(point);
      }
      return ESCAPES[sign ?? ""] ?? sign ?? "";
    },
  );
}

/** What the command prompt makes of `^` outside of quotes: the next sign as it is; at the end of a line, nothing. */
function withoutCarets(text: string): string {
  let plain = "";
  let isQuoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const sign = text.charAt(at);
    if (sign === "^" && !isQuoted) {
      const blanks = /^[ \t]+(?=\n)/.exec(text.slice(at + 1, at + 9))?.[0].length ?? 0;
      at += 1 + blanks;
      const next = text.charAt(at);
      if (next !== "\n") plain += next;
      else if (text.charAt(at + 1) === "\n") {
        plain += "\n";
        at += 1;
      }
    } else {
      if (sign === '"') isQuoted = !isQuoted;
      plain += sign;
    }
  }
  return plain;
}

/** Words as programs of Windows read their line: `\"` and, within quotes, `""` are a quote. */
function windowsWords(line: string): string[] {
  const words: string[] = [];
  let word: string | undefined;
  let isQuoted = false;
  for (let at = 0; at < line.length; at += 1) {
    const slashes = /^(\\+)"/.exec(line.slice(at))?.[1]?.length ?? 0;
    const sign = line.charAt(at);
    if (slashes > 0) {
      word = (word ?? "") + "\\".repeat(slashes >> 1) + (slashes % 2 === 1 ? '"' : "");
      at += slashes % 2 === 1 ? slashes : slashes - 1;
    } else if (sign === '"' && isQuoted && line.charAt(at + 1) === '"') {
      word = `${word ?? ""}"`;
      at += 1;
    } else if (sign === '"') {
      word ??= "";
      isQuoted = !isQuoted;
    } else if (/\s/.test(sign) && !isQuoted) {
      if (word !== undefined) words.push(word);
      word = undefined;
      if (words.length > 0 && /^\n\s*[^\s-]/.test(line.slice(at))) return words;
    } else if (/[|&]/.test(sign) && !isQuoted && word === undefined) return words;
    else word = (word ?? "") + sign;
  }
  if (word !== undefined) words.push(word);
  return words;
}
