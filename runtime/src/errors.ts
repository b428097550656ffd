// Errors in the form that the server gets.
import { dirname, join } from "node:path";

import { hide, hideFoldersOfRequire, hideProgram, OF_THREADS, withoutFolders, withoutFrames } from "./folders.ts";
import { read } from "./instances.ts";
import { JSON } from "./kept.ts";
import { mapStacksOf, sourceText, withOwnNames } from "./mapped.ts";
import { masked, maskedSource } from "./masked.ts";
import { isErrorLike, messageOf, shownBehind, shownValue } from "./thrown.ts";
import type { WireError } from "./types.ts";

const STACK_MAX = 64 << 10;
const MESSAGE_MAX = 16 << 10;

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n[cut: ${text.length - max} more characters]`;
}

/** A value as text, where it has one. */
export function text(value: unknown): string {
  try {
    return typeof value === "string" ? value : String(value);
  } catch {
    return "[a value that cannot be shown]";
  }
}

/** The lines of the files that modules were made of, once an error asked for them. */
const linesByFile = new Map<string, string[]>();
/** A longer line is no help. */
const LINE_MAX = 200;

/** From now on, errors and output name the folder `own` as code knows it: /tmp. */
export function showAsTmp(own: string): void {
  hide(own, "/tmp");
  hideFoldersOfRequire(asCodeKnows);
  hideProgram(__filename, asCodeKnows);
}

/** The folder beside a module in which its author's own files lie; the bundle knows its name too. */
const OWN_FILES = "component";

/** From now on, errors and output name files below the folder of `path` without it, and stacks show lines of what it was made of. */
export function hideFolderOf(path: string): void {
  hideFolder(join(dirname(path), OWN_FILES));
  hideFolder(dirname(path));
  mapStacksOf(path, shownStack);
}

/** Stacks as they were made, with the places of files, of the errors whose stacks code reads without them. */
const wholeStacks = new WeakMap<object, { shown: string; whole: string }>();

function shownStack(error: object, whole: string): string {
  const shown = asCodeKnows(whole);
  if (shown !== whole) wholeStacks.set(error, { shown, whole });
  return shown;
}

/** The stack of an error with the places of files; as code left it where code wrote it. */
function wholeStackOf(error: object): unknown {
  const stack = read(error, "stack");
  const known = wholeStacks.get(error);
  return known !== undefined && known.shown === stack ? known.whole : stack;
}

function hideFolder(folder: string): void {
  hide(`file://${folder}/`, "");
  hide(`${folder}/`, "");
}

// This program's own, which holds those of all hosts.
hideFolder(__dirname);

/** Text without frames of this program, which tell an author nothing, and without the folders of the server. */
export function asCodeKnows(text: string): string {
  let shown = withoutFrames(text, __filename);
  // Node puts the line that threw last before the stack of what ended a thread: ours, where `require` failed.
  if (shown.startsWith(`${OF_THREADS}:`)) shown = shown.slice(shown.indexOf("\n\n") + 2);
  if (shown.includes(".mjs")) shown = withOwnNames(shown);
  return withoutFolders(shown);
}

function linesOf(file: string): string[] | undefined {
  const known = linesByFile.get(file);
  if (known) return known;
  try {
    const lines = sourceText(file)?.split("\n");
    if (lines) linesByFile.set(file, lines);
    return lines;
  } catch {
    // A stack without the line is better than none.
    return undefined;
  }
}

/** A line as its author wrote it: what it says of its own place is bundled as a call (`own.rs` of `crates/bundle`). */
const asWritten = (line: string): string =>
  line.replace(/__millraceFile\("(?:[^"\\]|\\.)*"\)(?:\.(dirname|filename|require\b|load\())?/g, (_, member?: string) => WRITTEN[member ?? ""] ?? "import.meta");

const WRITTEN: Record<string, string> = { dirname: "__dirname", filename: "__filename", require: "require", "load(": "import(" };

/** Puts the author's line below the first frame that is the author's: what packages do inside tells less. CommonJS has no folder (`sloppy.rs` of `crates/bundle`). */
function withSourceLine(stack: string): string {
  const frames = stack.split("\n");
  for (const [at, frame] of frames.entries()) {
    const [, file, line] = /^\s+at .*?((?:file:\/\/)?\/[^()]*?|[^\s():/][^\s():]*\.c?js):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (file === undefined || line === undefined || file.includes("/node_modules/")) continue;
    const text = linesOf(file.replace(/^file:\/\//, ""))?.[Number(line) - 1];
    if (text === undefined || text.trim() === "") continue;
    frames.splice(at + 1, 0, `        ${line} | ${maskedSource(asWritten(text).trimEnd().slice(0, LINE_MAX))}`);
    break;
  }
  return frames.join("\n");
}

const MORE_MEMORY = "raise `settings.memory_mb` (of a workflow; sources have no such setting)";

/** Node says only `EAGAIN` of a worker for whose stack there is no memory left, and of a buffer that it could not be had. */
function withLimit(message: string, stack: unknown): string {
  if (message === "Array buffer allocation failed") {
    return `${message}: the process would use more memory than it may; hold less in buffers, or ${MORE_MEMORY}`;
  }
  if (message !== "EAGAIN" || typeof stack !== "string" || !stack.includes("node:internal/worker")) return message;
  return `EAGAIN: no thread could be started for a worker, as the process uses as much memory as it may; use fewer workers, or ${MORE_MEMORY}`;
}

function nameOf(error: object): string {
  const name = read(error, "name");
  return typeof name === "string" ? name : "Error";
}

/** The class of an error: a name of its own, or that of its class where it has none. */
function classOf(error: object): string {
  const name = nameOf(error);
  const className = read(read(error, "constructor"), "name");
  // Platform errors rewrite `name` to a sentence.
  const plain = /^[\w$.]+$/.test(name) ? name : (name.split(" ")[0] ?? "Error");
  return plain === "Error" && typeof className === "string" && className !== "" && className !== "Object" ? className : plain;
}

/** Lines behind the message of a stack: frames, and the author's line that `withSourceLine` put there. */
const FRAME = /^\s+(?:at |\d+ \| )/;
const SOURCE_LINE = /^\s+\d/;

/** Where a stack goes on behind the error's message; 0 where it does not begin with the message. */
function endOfMessage(stack: string, message: unknown): number {
  if (typeof message !== "string") return 0;
  const at = stack.indexOf(message);
  if (at < 0 || stack.slice(0, at).includes("\n")) return 0;
  const end = stack.indexOf("\n", at + message.length);
  return end < 0 ? stack.length : end;
}

/** Where the frames begin that a stack ends with, not before `end`: a message may hold stacks of its own. */
function startOfFrames(stack: string, end: number): number {
  let start = stack.length;
  while (start > end) {
    const before = stack.lastIndexOf("\n", start - 1);
    if (before < end || !FRAME.test(stack.slice(before + 1, start))) break;
    start = before;
  }
  return start;
}

/** The stack of an error as an author reads it; never without its message. */
function stackOf(error: object, message = messageOf(error)): string {
  const stack = wholeStackOf(error);
  if (typeof stack !== "string" || stack === "") return `${classOf(error)}: ${shownMessage(message)}`;
  const end = endOfMessage(stack, read(error, "message"));
  const whole = stack.slice(0, end) + withSourceLine(stack.slice(end));
  const start = startOfFrames(whole, end);
  const shown = (part: string): string => asCodeKnows(part).replaceAll("/component/", "");
  const frames = shown(whole.slice(start)).split("\n");
  const maskedFrames = frames.map((line) => (SOURCE_LINE.test(line) ? maskedSource(line) : masked(line)));
  return shownMessage(shown(whole.slice(0, start))) + maskedFrames.join("\n");
}

/** A message without the folders of the server and without credentials. */
function shownMessage(message: string): string {
  return masked(cut(asCodeKnows(message), MESSAGE_MAX));
}

/** In the place of an error that cannot be shown. */
const NOT_SHOWN = "the code failed, and its error cannot be shown: the code replaced a built-in function, and what it put there fails";

/** Whatever was thrown. The code is the error's class; the stack is never absent, nor without the message and what lay behind it. */
export function wireError(thrown: unknown): WireError {
  try {
    return shownError(thrown);
  } catch {
    return { code: "Error", name: "Error", message: NOT_SHOWN, stack: `Error: ${NOT_SHOWN}` };
  }
}

function shownError(thrown: unknown): WireError {
  if (!isErrorLike(thrown)) {
    const message = shownMessage(shownValue(thrown));
    return { code: "Error", name: "Error", message, stack: `Error: ${message}` };
  }
  const message = shownMessage(withLimit(messageOf(thrown), read(thrown, "stack")));
  const stack = stackOf(thrown, message) + asCodeKnows(shownBehind(thrown, (error) => stackOf(error)));
  return { code: masked(classOf(thrown)), name: masked(nameOf(thrown)), message, stack: cut(stack, STACK_MAX) };
}

/** Thrown by `$.flow.exit`: not a failure. */
export class FlowExit extends Error {
  readonly reason: string;
  constructor(reason: string) {
    super(`$.flow.exit: ${reason}`);
    this.name = "FlowExit";
    this.reason = reason;
  }
}

/** How deep a value may be nested (facts 4.11). The server reads no deeper. */
const NESTED_MAX = 256;

/** Whether more arrays and objects than allowed are open at once. */
function nestedTooDeep(json: string): boolean {
  // Each level has two brackets.
  if (json.length <= 2 * NESTED_MAX) return false;
  let depth = 0;
  for (let at = 0; at < json.length; at++) {
    const unit = json[at];
    if (unit === '"') {
      while (json[++at] !== '"') if (json[at] === "\\") at++;
    } else if (unit === "[" || unit === "{") {
      if (++depth > NESTED_MAX) return true;
    } else if (unit === "]" || unit === "}") depth--;
  }
  return false;
}

/** JSON text of a value that code hands out, or a clear error that names it. */
export function jsonText(value: unknown, what: string, replacer?: (key: string, value: unknown) => unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`${what} is a ${typeof value}, which is not JSON-serializable`);
  let json: string | undefined;
  try {
    json = JSON.stringify(value, replacer);
  } catch (error) {
    throw new TypeError(`${what} is not JSON-serializable: ${error instanceof Error ? error.message.split("\n")[0] : text(error)}`);
  }
  if (json !== undefined && nestedTooDeep(json)) throw new RangeError(`JSON Nested Property Limit Exceeded: ${what} is nested more than ${NESTED_MAX} levels deep`);
  return json;
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" ? "an object" : `a ${type} (${cut(text(value), 80)})`;
}
