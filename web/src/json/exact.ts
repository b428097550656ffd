/**
 * JSON whose numbers stay the text they were written as. A number of JavaScript is a double: it
 * rounds `12345678901234567890`, and `1e400` is infinite in it.
 */

const TOKENS = /"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g;
const STRINGS = /"[^"\\]*(?:\\.[^"\\]*)*"/g;

/** A value of which every name and string begins with `s`, and every number is a string after `n`. */
type Marked = string | boolean | null | Marked[] | { [name: string]: Marked };

export class ExactJson {
  private constructor(private readonly marked: Marked | undefined) {}

  /** Throws as `JSON.parse` does where the text is no JSON. */
  static parse(text: string): ExactJson {
    JSON.parse(text);
    const marked = text.replace(TOKENS, (token) =>
      token.startsWith('"') ? `"s${token.slice(1)}` : `"n${token}"`,
    );
    return new ExactJson(JSON.parse(marked));
  }

  at(name: string): ExactJson {
    const { marked } = this;
    const isObject = typeof marked === "object" && marked !== null && !Array.isArray(marked);
    return new ExactJson(isObject ? marked[`s${name}`] : undefined);
  }

  items(): ExactJson[] {
    return Array.isArray(this.marked) ? this.marked.map((each) => new ExactJson(each)) : [];
  }

  /** The value as JSON, names in their order; empty where there is none. */
  text(indent?: number): string {
    const text = JSON.stringify(this.marked, null, indent) ?? "";
    return text.replace(STRINGS, (token) =>
      token.charAt(1) === "s" ? `"${token.slice(2)}` : token.slice(2, -1),
    );
  }
}

/** Number that JavaScript would write otherwise than it was written, as its text. */
export class WrittenNumber {
  constructor(readonly text: string) {}

  toString(): string {
    return this.text;
  }

  toJSON(): number | string {
    return writing ? MARK + this.text : Number(this.text);
  }
}

/** Begins a string that stands for a number; drawn anew per page, so that no value holds it. */
const MARK = `\ue000${Math.random().toString(36).slice(2)}:`;
const MARKED = new RegExp(`"${MARK}([^"]*)"`, "g");
/** May be a number with a fraction, an exponent or many digits; without one, nothing is written otherwise. */
const MAY_CHANGE = /\d[.eE]|\d{16}|-0/;

let writing = false;

/** The value of a JSON text, in which numbers that JavaScript would change are `WrittenNumber`. */
export function readExact(text: string): unknown {
  const value: unknown = JSON.parse(text);
  if (!MAY_CHANGE.test(text)) return value;
  let marks = 0;
  const marked = text.replace(TOKENS, (token) => {
    if (token.startsWith('"') || String(Number(token)) === token) return token;
    marks += 1;
    return `"${MARK}${token}"`;
  });
  if (marks === 0) return value;
  return JSON.parse(marked, (_, each: unknown) =>
    typeof each === "string" && each.startsWith(MARK)
      ? new WrittenNumber(each.slice(MARK.length))
      : each,
  );
}

/** `JSON.stringify`, with each `WrittenNumber` as it was written. */
export function exactText(
  value: unknown,
  indent?: number,
  replace?: (name: string, each: unknown) => unknown,
): string | undefined {
  writing = true;
  try {
    const text: string | undefined = JSON.stringify(value, replace, indent);
    return text?.replace(MARKED, "$1");
  } finally {
    writing = false;
  }
}

/** The first number of a JSON text that JavaScript would change, as it is written. */
export function changedNumber(text: string): string | undefined {
  for (const [token] of text.matchAll(TOKENS)) {
    if (token.startsWith('"')) continue;
    const value = Number(token);
    const isWhole = /^-?\d+$/.test(token);
    if (!Number.isFinite(value) || (isWhole && !Number.isSafeInteger(value))) return token;
  }
  return undefined;
}
