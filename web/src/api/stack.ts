/** Frames of a stack as the server gives it: source-mapped, without paths of the host. */

export type Frame = {
  /** Function, as the engine names it. */
  name: string;
  file: string;
  line: number;
  column: number;
  /** Code of a package, or of the runtime. */
  foreign: boolean;
};

const NAMED = /^\s*at (?:async )?(.+?) \((.+):(\d+):(\d+)\)$/;
const BARE = /^\s*at (?:async )?(.+):(\d+):(\d+)$/;

export function framesOf(stack: string): Frame[] {
  return stack.split("\n").flatMap((text) => {
    const named = NAMED.exec(text);
    if (named !== null) {
      const [, name = "", file = "", line = "", column = ""] = named;
      return frame(name, file, line, column);
    }
    const bare = BARE.exec(text);
    if (bare === null) return [];
    const [, file = "", line = "", column = ""] = bare;
    return frame("", file, line, column);
  });
}

function frame(name: string, file: string, line: string, column: string): Frame {
  const foreign = /^node:|(^|\/)node_modules\/|^(npm|https?):|^millrace:/.test(file);
  return {
    name: name.replace(/^Object\./, ""),
    file,
    line: Number(line),
    column: Number(column),
    foreign,
  };
}

/** The frame to open: the first of one's own code. */
export function ownFrame(frames: readonly Frame[]): Frame | undefined {
  return frames.find(({ foreign }) => !foreign);
}

export type CodeLine = { number: number; text: string; hot: boolean };

/** Lines around a place, without the indentation that all have. */
export function linesAround(code: string, line: number, around = 5): CodeLine[] {
  const all = code.split("\n");
  if (line < 1 || line > all.length) return [];
  const from = Math.max(1, line - around);
  const to = Math.min(all.length, line + around);
  const shown = all.slice(from - 1, to);
  const indents = shown
    .filter((text) => text.trim() !== "")
    .map((text) => text.length - text.trimStart().length);
  const common = indents.length === 0 ? 0 : Math.min(...indents);
  return shown.map((text, index) => ({
    number: from + index,
    text: text.slice(common),
    hot: from + index === line,
  }));
}

/** How far the lines of a frame were moved left. */
export function commonIndent(code: string, line: number, around = 5): number {
  const original = code.split("\n")[line - 1] ?? "";
  const shown = linesAround(code, line, around).find(({ hot }) => hot)?.text ?? "";
  return original.length - shown.length;
}
