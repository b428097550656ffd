// Output of each call: console.* and the standard streams, in order, with their level.
import { formatWithOptions, inspect } from "node:util";

import { scope as scopeNow } from "./context.ts";
import { asCodeKnows } from "./errors.ts";

const LINE_MAX = 64 << 10;

/** The real one: what belongs to no call is the server's to read. */
const ownStderr = process.stderr.write.bind(process.stderr);

function log(level: string, text: string): void {
  const scope = scopeNow();
  if (!scope) return;
  scope.call.log(level, asCodeKnows(text.length <= LINE_MAX ? text : `${text.slice(0, LINE_MAX)} [cut]`));
}

/** Tells of an error that belongs to no call. */
export function logHost(error: unknown): void {
  ownStderr(`${error instanceof Error ? (error.stack ?? error.message) : inspect(error)}\n`);
}

export function captureLogs(): void {
  // As console.group would indent: by call, for calls interleave.
  const indents = new WeakMap<object, string>();
  const indented = (text: string): string => {
    const scope = scopeNow();
    const indent = scope && indents.get(scope.call);
    return indent ? text.replace(/^/gm, indent) : text;
  };
  const writer = (level: string) => (...args: unknown[]) => {
    const only = args[0];
    log(level, indented(args.length === 1 && typeof only === "string" ? only : formatWithOptions({}, ...args)));
  };
  const levels = { log: "log", info: "info", warn: "warn", error: "error", debug: "debug" } as const;
  const own: Record<string, unknown> = {};
  for (const [method, level] of Object.entries(levels)) own[method] = writer(level);
  const print = own["log"] as (...args: unknown[]) => void;
  const group = (...args: unknown[]) => {
    if (args.length > 0) print(...args);
    const scope = scopeNow();
    if (scope) indents.set(scope.call, `${indents.get(scope.call) ?? ""}  `);
  };
  Object.assign(console, own, {
    trace: (...args: unknown[]) => {
      const stack = new Error().stack?.split("\n").filter((line) => !line.includes(__filename)).slice(1) ?? [];
      log("debug", [`Trace: ${formatWithOptions({}, ...args)}`, ...stack].join("\n"));
    },
    dir: (value: unknown, options?: object) => print(inspect(value, { customInspect: false, ...options })),
    dirxml: print,
    group,
    groupCollapsed: group,
    groupEnd: () => {
      const scope = scopeNow();
      if (scope) indents.set(scope.call, (indents.get(scope.call) ?? "").slice(2));
    },
  });
  const capture = (level: string) =>
    ((chunk: unknown, encoding?: unknown, callback?: unknown) => {
      const text = typeof chunk === "string" ? chunk : Buffer.from(chunk as Uint8Array).toString("utf8");
      log(level, text.endsWith("\n") ? text.slice(0, -1) : text);
      const done = typeof encoding === "function" ? encoding : callback;
      if (typeof done === "function") done();
      return true;
    }) as typeof process.stdout.write;
  process.stdout.write = capture("log");
  process.stderr.write = capture("error");
}
