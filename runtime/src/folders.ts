// Folders of the server in what code reads: where the server keeps its files tells an author nothing.
import Module from "node:module";
import { setEnvironmentData } from "node:worker_threads";

/** The data of all threads (`setEnvironmentData`) under which the main thread names the folders. */
export const OWN_FOLDERS = "millrace:folders";

/** Folders, longest first, and what code knows them as. */
let folders: [folder: string, shown: string][] = [];

/** From now on, texts show `folder` as `shown`, in threads that start later as well. */
export function hide(folder: string, shown: string): void {
  if (folders.some(([known]) => known === folder)) return;
  folders.push([folder, shown]);
  folders.sort(([a], [b]) => b.length - a.length);
  setEnvironmentData(OWN_FOLDERS, folders);
}

/** The folders that the main thread named, in a thread that it started. */
export function takeFolders(named: unknown): void {
  if (Array.isArray(named)) folders = named as typeof folders;
}

export function withoutFolders(text: string): string {
  let shown = text;
  for (const [folder, known] of folders) if (shown.includes(folder)) shown = shown.replaceAll(folder, known);
  return shown;
}

/** How stacks name what is loaded first in each thread (`build.mjs`). */
export const OF_THREADS = "node:millrace/worker";

/** A stack without the frames of one file, which tell an author nothing. */
export const withoutFrames = (stack: string, file: string): string =>
  stack.includes(file)
    ? stack
        .split("\n")
        .filter((line) => !(line.includes(`${file}:`) && line.trimStart().startsWith("at ")))
        .join("\n")
    : stack;

/** As V8 shows it. */
export const plainStack = (error: unknown, trace: unknown[]): string => headOf(error) + trace.map((frame) => `\n    at ${String(frame)}`).join("");

function headOf(error: unknown): string {
  try {
    return Error.prototype.toString.call(error);
  } catch {
    return "Error";
  }
}

/** What `require` throws names no folder of the server either: neither where it looked, nor what asked. */
export function hideFoldersOfRequire(shown: (text: string) => string): void {
  const loader = Module as unknown as Record<"_load" | "_resolveFilename", (...args: unknown[]) => unknown>;
  for (const name of ["_load", "_resolveFilename"] as const) {
    const original = loader[name];
    loader[name] = function (this: unknown, ...args: unknown[]) {
      try {
        return original.apply(this, args);
      } catch (error) {
        rename(error, shown);
        throw error;
      }
    };
  }
}

function rename(error: unknown, shown: (text: string) => string): void {
  if (error === null || typeof error !== "object") return;
  try {
    // Node writes the place of a file that it cannot parse before the stack.
    for (const field of ["message", "path", "stack"]) {
      const text: unknown = Reflect.get(error, field);
      if (typeof text === "string" && shown(text) !== text) Reflect.set(error, field, shown(text));
    }
    const asked: unknown = Reflect.get(error, "requireStack");
    if (Array.isArray(asked)) Reflect.set(error, "requireStack", asked.map((path) => shown(String(path))));
  } catch {
    // A getter of the code's own throws: it is handed on as it is.
  }
}
