// Errors as the server gets them.
import { readFileSync } from "node:fs";
import { findSourceMap } from "node:module";
import { dirname } from "node:path";

import { JSON } from "./kept.ts";
import type { WireError } from "./types.ts";

const STACK_MAX = 64 << 10;
const MESSAGE_MAX = 16 << 10;

function cut(text: string, max: number): string {
  return text.length <= max ? text : `${text.slice(0, max)}\n[cut: ${text.length - max} more characters]`;
}

function text(value: unknown): string {
  try {
    return typeof value === "string" ? value : String(value);
  } catch {
    return "[a value that cannot be shown]";
  }
}

/** Folders that modules lie in: where the server keeps its files is nobody's business, and tells an author nothing. */
const folders = new Set<string>();

/** The modules that code came in, and the lines of the files that they were made of, once an error asked for them. */
const modulePaths = new Set<string>();
const linesByFile = new Map<string, string[]>();
/** A longer line is no help. */
const LINE_MAX = 200;

let ownTmp: string | undefined;

/** From now on, errors name the folder `own` as code knows it: /tmp. */
export function showAsTmp(own: string): void {
  ownTmp = own;
}

const asCodeKnows = (shown: string): string => (ownTmp === undefined ? shown : shown.replaceAll(ownTmp, "/tmp"));

/** From now on, stacks name files below the folder of `path` without it, and show lines of what it was made of. */
export function hideFolderOf(path: string): void {
  folders.add(`${dirname(path)}/`);
  modulePaths.add(path);
}

function linesOf(file: string): string[] | undefined {
  const known = linesByFile.get(file);
  if (known) return known;
  for (const path of modulePaths) {
    try {
      const map = findSourceMap(path)?.payload;
      const at = map?.sources.findIndex((source) => source === file || source === `file://${file}`) ?? -1;
      const content: unknown = map ? map.sourcesContent[at] : path === file ? readFileSync(path, "utf8") : undefined;
      if (typeof content !== "string") continue;
      const lines = content.split("\n");
      linesByFile.set(file, lines);
      return lines;
    } catch {
      // A stack without the line is better than none.
    }
  }
  return undefined;
}

/** Puts the author's line below the first frame that is the author's: what packages do inside tells less. */
function withSourceLine(stack: string): string {
  const frames = stack.split("\n");
  for (const [at, frame] of frames.entries()) {
    const [, file, line] = /^\s+at .*?((?:file:\/\/)?\/[^()]*?):(\d+):\d+\)?$/.exec(frame) ?? [];
    if (file === undefined || line === undefined || file.includes("/node_modules/")) continue;
    const text = linesOf(file.replace(/^file:\/\//, ""))?.[Number(line) - 1];
    if (text === undefined || text.trim() === "") continue;
    frames.splice(at + 1, 0, `        ${line} | ${text.trimEnd().slice(0, LINE_MAX)}`);
    break;
  }
  return frames.join("\n");
}

/** A stack without the frames of this program: they tell an author nothing. */
function ownFrames(stack: string): string {
  let shown = asCodeKnows(stack)
    .split("\n")
    .filter((line) => !(line.includes(import.meta.url) && line.trimStart().startsWith("at ")))
    .join("\n");
  for (const folder of folders) shown = shown.replaceAll(`file://${folder}`, "").replaceAll(folder, "");
  return shown.replaceAll("/component/", "");
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

/** Whatever was thrown. The code is the error's class; the stack is never absent, nor without the message. */
export function wireError(thrown: unknown): WireError {
  if (thrown !== null && typeof thrown === "object" && ("message" in thrown || thrown instanceof Error)) {
    const error = thrown as { name?: unknown; message?: unknown; stack?: unknown; constructor?: { name?: string } };
    const name = text(error.name ?? "Error");
    const className = error.constructor?.name;
    // A class of its own without a name of its own still tells its class; platform errors rewrite `name` to a sentence.
    const plain = /^[\w$.]+$/.test(name) ? name : (name.split(" ")[0] ?? "Error");
    const code = plain === "Error" && className && className !== "Object" ? className : plain;
    const message = cut(asCodeKnows(withLimit(text(error.message ?? ""), error.stack)), MESSAGE_MAX);
    const stack = typeof error.stack === "string" && error.stack !== "" ? ownFrames(withSourceLine(error.stack)) : `${code}: ${message}`;
    return { code, name, message, stack: cut(stack, STACK_MAX) };
  }
  const message = cut(asCodeKnows(text(thrown)), MESSAGE_MAX);
  return { code: "Error", name: "Error", message, stack: `Error: ${message}` };
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
