// Replacement of the server's folders in text that code reads: their paths mean nothing to an
// author.
import fs from "node:fs";
import Module from "node:module";
import { resolve } from "node:path";
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

const FRAME = /^\s*at /;
/** Frames of Node's own and of the engine's. */
const INTERNAL = /^\s*at (?:async )?(?:.*\()?(?:node:|<anonymous>\)$)/;

/** A stack without the frames of one file, and of what called it, which tell an author nothing. */
export function withoutFrames(stack: string, file: string): string {
  if (!stack.includes(file)) return stack;
  const kept: string[] = [];
  /** Internal frames behind one of the file: kept where a frame of code follows. */
  let held: string[] | undefined;
  for (const line of stack.split("\n")) {
    if (FRAME.test(line) && line.includes(`${file}:`)) held = [];
    else if (held && INTERNAL.test(line)) held.push(line);
    else {
      if (held && FRAME.test(line)) kept.push(...held);
      held = undefined;
      kept.push(line);
    }
  }
  return kept.join("\n");
}

/** As V8 shows it. */
export const plainStack = (error: unknown, trace: unknown[]): string => headOf(error) + trace.map((frame) => `\n    at ${String(frame)}`).join("");

type Prepare = (error: unknown, trace: unknown[]) => unknown;

/** From now on, stacks are made by `own`. A function that code puts in its place gets the frames that are not of `file`, and what is none restores it. */
export function prepareStacks(own: Prepare, file: string): void {
  const known = new WeakSet<Prepare>([own]);
  const nameOf = (frame: unknown): unknown => (frame as { getFileName?: () => unknown }).getFileName?.();
  const withoutOurs = (given: Prepare): Prepare => {
    const filtered: Prepare = (error, trace) => given.call(Error, error, Array.isArray(trace) ? trace.filter((frame) => nameOf(frame) !== file) : trace);
    known.add(filtered);
    return filtered;
  };
  let current = own;
  const set = (given: unknown): void => {
    current = typeof given !== "function" ? own : known.has(given as Prepare) ? (given as Prepare) : withoutOurs(given as Prepare);
  };
  Object.defineProperty(Error, "prepareStackTrace", { get: () => current, set, configurable: true, enumerable: false });
}

/** What tells of this process names no file of this program: the loader's cache, and reports, once code asks for them. `shown`: a text as code knows it. */
export function hideProgram(file: string, shown: (text: string) => string): void {
  const { _pathCache: paths } = Module as unknown as { _pathCache?: Record<string, string> };
  for (const [asked, found] of Object.entries(paths ?? {})) if (found === file) delete paths?.[asked];
  const descriptor = Object.getOwnPropertyDescriptor(process, "report");
  if (!descriptor?.configurable) return;
  let report: typeof process.report | undefined;
  const get = (): typeof process.report => (report ??= withoutProgram(descriptor.get ? (descriptor.get.call(process) as typeof process.report) : (descriptor.value as typeof process.report), shown));
  Object.defineProperty(process, "report", { get, configurable: true, enumerable: true });
}

function withoutProgram(report: typeof process.report, shown: (text: string) => string): typeof process.report {
  if (!report) return report;
  const { getReport } = report;
  const text = (error?: Error): string => {
    const told = getReport.call(report, error) as { header?: { commandLine?: string[] } };
    if (told.header) told.header.commandLine = process.argv.slice(0, 1);
    return shown(JSON.stringify(told, undefined, 2));
  };
  const own = {
    getReport: (error?: Error) => JSON.parse(text(error)) as object,
    writeReport: (name?: unknown, error?: Error): string => {
      const file = typeof name === "string" ? name : `report.${Date.now()}.${process.pid}.json`;
      fs.writeFileSync(resolve(process.cwd(), report.directory, file), text(typeof name === "object" && name !== null ? (name as Error) : error));
      return file;
    },
  };
  // What Node writes by itself would not be read through.
  const off = { get: () => false, set: () => undefined, configurable: true, enumerable: true };
  return Object.defineProperties(Object.create(report) as typeof process.report, {
    ...Object.fromEntries(Object.entries(own).map(([name, value]) => [name, { value, writable: true, configurable: true, enumerable: true }])),
    reportOnFatalError: off,
    reportOnSignal: off,
    reportOnUncaughtException: off,
  });
}

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
    // Node writes the place of a file that it cannot parse before the stack. It adds nothing to the
    // stack of a missing package: packages try whether there is one, and making a stack reads maps.
    const isMissing = Reflect.get(error, "code") === "MODULE_NOT_FOUND";
    for (const field of isMissing ? ["message", "path"] : ["message", "path", "stack"]) {
      const text: unknown = Reflect.get(error, field);
      if (typeof text === "string" && shown(text) !== text) Reflect.set(error, field, shown(text));
    }
    const asked: unknown = Reflect.get(error, "requireStack");
    if (Array.isArray(asked)) Reflect.set(error, "requireStack", asked.map((path) => shown(String(path))));
  } catch {
    // A getter of the code's own throws: it is handed on as it is.
  }
}
