// `$.service.db`: synchronous, private to the source. A call begins with the stored state; each
// write goes to the server at once and is settled with the run. Values are kept as JSON text: each
// `get` is a fresh copy. Values that a form sets are visible to that call alone.
import type { CallContext } from "./context.ts";
import { jsonText } from "./errors.ts";
import { JSON } from "./kept.ts";

const BYTES_MAX = 60 * 1024;

type Snapshot = Record<string, unknown> | null | undefined;

/** Values as JSON text by key, and how much they are. */
class Values {
  readonly #texts = new Map<string, string>();
  bytes = 0;

  constructor(snapshot: Snapshot) {
    for (const [key, value] of Object.entries(snapshot ?? {})) this.put(key, JSON.stringify(value));
  }

  text(key: string): string | undefined {
    return this.#texts.get(key);
  }

  put(key: string, text: string | undefined): void {
    const before = this.#texts.get(key);
    this.bytes -= before === undefined ? 0 : key.length + before.length;
    if (text === undefined) this.#texts.delete(key);
    else {
      this.#texts.set(key, text);
      this.bytes += key.length + text.length;
    }
  }
}

/** The `$.service.db` of a run or hook, of which every write is kept. */
export function serviceDb(call: CallContext, snapshot: unknown): object {
  return dbOf(new Values(snapshot as Snapshot), call, (name, text) => call.sendText(`"t":"db","key":${JSON.stringify(name)}${text === undefined ? "" : `,"value":${text}`}}`));
}

/** That of a form, of which no write is kept. */
export function formDb(call: CallContext, snapshot: unknown): object {
  return dbOf(new Values(snapshot as Snapshot), call, () => {});
}

function dbOf(values: Values, call: CallContext, keep: (name: string, text: string | undefined) => void): object {
  const db = {
    get(key: unknown): unknown {
      const text = values.text(String(key));
      return text === undefined ? undefined : (JSON.parse(text) as unknown);
    },
    set(key: unknown, value: unknown): void {
      const name = String(key);
      // What a run leaves behind is settled with it: a write after its end would be seen here and nowhere else.
      if (call.done) return call.log("warn", `$.service.db: \`${name}\` was set after the run had ended; it is not kept`);
      const text = value === undefined ? undefined : jsonText(value, `the value of the key \`${name}\` in $.service.db`);
      const before = values.text(name);
      values.put(name, text);
      if (values.bytes > BYTES_MAX) {
        const size = values.bytes;
        values.put(name, before);
        throw new RangeError(`$.service.db would hold ${size} characters after setting \`${name}\`; allowed are ${BYTES_MAX} for a component`);
      }
      keep(name, text);
    },
    delete(key: unknown): void {
      db.set(key, undefined);
    },
  };
  return db;
}
