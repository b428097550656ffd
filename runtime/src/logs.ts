// Output of each call: console.* and the standard streams, in order, with their level.
import { format, inspect } from "node:util";

import { calls } from "./context.ts";

const LINE_MAX = 64 << 10;

function log(level: string, text: string): void {
  const call = calls.getStore();
  if (!call) return;
  const shown = text.length <= LINE_MAX ? text : `${text.slice(0, LINE_MAX)} [cut]`;
  call.send({ t: "log", level, text: shown, ts: Date.now() });
}

export function captureLogs(): void {
  const levels = { log: "log", info: "info", warn: "warn", error: "error", debug: "debug", trace: "debug" } as const;
  for (const [method, level] of Object.entries(levels)) {
    (console as unknown as Record<string, unknown>)[method] = (...args: unknown[]) => log(level, format(...args));
  }
  console.dir = (value: unknown, options?: object) => log("log", inspect(value, options));
  console.table = (value: unknown) => log("log", inspect(value));
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
