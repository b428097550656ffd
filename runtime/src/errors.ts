// Errors as the server gets them.
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

/** From now on, stacks name files below the folder of `path` without it. */
export function hideFolderOf(path: string): void {
  folders.add(`${dirname(path)}/`);
}

/** A stack without the frames of this program: they tell an author nothing. */
function ownFrames(stack: string): string {
  let shown = stack
    .split("\n")
    .filter((line) => !(line.includes(import.meta.url) && line.trimStart().startsWith("at ")))
    .join("\n");
  for (const folder of folders) shown = shown.replaceAll(`file://${folder}`, "").replaceAll(folder, "");
  return shown.replaceAll("/component/", "");
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
    const message = cut(text(error.message ?? ""), MESSAGE_MAX);
    const stack = typeof error.stack === "string" && error.stack !== "" ? ownFrames(error.stack) : `${code}: ${message}`;
    return { code, name, message, stack: cut(stack, STACK_MAX) };
  }
  const message = cut(text(thrown), MESSAGE_MAX);
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

/** JSON text of a value that code hands out, or a clear error that names it. */
export function jsonText(value: unknown, what: string, replacer?: (key: string, value: unknown) => unknown): string | undefined {
  if (typeof value === "function" || typeof value === "symbol") throw new TypeError(`${what} is a ${typeof value}, which is not JSON-serializable`);
  try {
    return JSON.stringify(value, replacer);
  } catch (error) {
    throw new TypeError(`${what} is not JSON-serializable: ${error instanceof Error ? error.message.split("\n")[0] : text(error)}`);
  }
}

/** What a value is, for messages. */
export function kindOf(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (Array.isArray(value)) return "an array";
  const type = typeof value;
  return type === "object" ? "an object" : `a ${type} (${cut(text(value), 80)})`;
}
