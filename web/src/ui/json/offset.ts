/** Place of the first mistake in a text that is no JSON; the messages of browsers do not agree on one. */

const NUMBER = /-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?/y;
// biome-ignore lint/suspicious/noControlCharactersInRegex: JSON refuses them in strings
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[\da-fA-F]{4}))*"/y;
const WORD = /true|false|null/y;
const SPACE = /[ \t\r\n]*/y;

/** Offset of the first sign that does not fit, or -1 for JSON. */
export function firstMistake(text: string): number {
  let at = 0;
  const take = (pattern: RegExp): boolean => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (found === null) return false;
    at += found[0].length;
    return true;
  };
  const space = () => take(SPACE);
  const sign = (expected: string): boolean => {
    space();
    if (text.charAt(at) !== expected) return false;
    at += 1;
    return true;
  };
  const list = (close: string, member: () => boolean): boolean => {
    if (sign(close)) return true;
    do {
      space();
      if (!member()) return false;
    } while (sign(","));
    return sign(close);
  };
  const value = (): boolean => {
    space();
    if (sign("{")) return list("}", () => take(STRING) && sign(":") && value());
    if (sign("[")) return list("]", value);
    return take(STRING) || take(WORD) || take(NUMBER);
  };
  if (!value()) return at;
  space();
  return at === text.length ? -1 : at;
}
