// `$.service.db`: synchronous, private to the source. A map that lives as long as the isolate; each write goes to the
// server at once and is settled with the run. Values are kept as JSON text: each `get` is a fresh copy.
import type { CallContext } from "./context.ts";
import { jsonText } from "./errors.ts";
import { JSON } from "./kept.ts";

const BYTES_MAX = 60 * 1024;

const stored = new Map<string, string>();
let bytes = 0;

export function loadDb(snapshot: Record<string, unknown> | null | undefined): void {
  for (const [key, value] of Object.entries(snapshot ?? {})) put(key, JSON.stringify(value));
}

function put(key: string, text: string | undefined): void {
  const before = stored.get(key);
  bytes -= before === undefined ? 0 : key.length + before.length;
  if (text === undefined) stored.delete(key);
  else {
    stored.set(key, text);
    bytes += key.length + text.length;
  }
}

export function serviceDb(call: CallContext): object {
  const db = {
    get(key: unknown): unknown {
      const text = stored.get(String(key));
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    },
    set(key: unknown, value: unknown): void {
      const name = String(key);
      // What a run leaves behind is settled with it: a write after its end would be seen here and nowhere else.
      if (call.done) return call.log("warn", `$.service.db: \`${name}\` was set after the run had ended; it is not kept`);
      const text = value === undefined ? undefined : jsonText(value, `the value of the key \`${name}\` in $.service.db`);
      const before = stored.get(name);
      put(name, text);
      if (bytes > BYTES_MAX) {
        const size = bytes;
        put(name, before);
        throw new RangeError(`$.service.db would hold ${size} characters after setting \`${name}\`; allowed are ${BYTES_MAX} for a component`);
      }
      call.sendText(`"t":"db","key":${JSON.stringify(name)}${text === undefined ? "" : `,"value":${text}`}}`);
    },
    delete(key: unknown): void {
      db.set(key, undefined);
    },
  };
  return db;
}
