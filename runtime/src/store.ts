// `data_store` prop: a store of values that workflows share. Unlike `$.service.db` all of it is
// asynchronous.
import { ask } from "./ask.ts";
import type { CallContext } from "./context.ts";
import { jsonText, kindOf } from "./errors.ts";
import type { Bag } from "./types.ts";

const KEY_MAX = 1024;
/** Entries and keys come in pages, so that a large store is never whole in memory at once unless code asks for it. */
const PAGE = 100;

type Entry = [string, unknown];

/** A list that comes in pages: awaited it is an array; with `for await` each item as it comes. */
class Paged<T> implements PromiseLike<T[]>, AsyncIterable<T> {
  readonly #page: (after: string | undefined) => Promise<{ items: T[]; next?: string }>;

  constructor(page: (after: string | undefined) => Promise<{ items: T[]; next?: string }>) {
    this.#page = page;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<T> {
    let after: string | undefined;
    do {
      const { items, next } = await this.#page(after);
      yield* items;
      after = next ?? undefined;
    } while (after !== undefined);
  }

  async #all(): Promise<T[]> {
    const all: T[] = [];
    for await (const item of this) all.push(item);
    return all;
  }

  // eslint-disable-next-line unicorn/no-thenable -- awaited and iterated forms are both in use
  then<A = T[], B = never>(resolve?: ((all: T[]) => A | PromiseLike<A>) | null, reject?: ((error: unknown) => B | PromiseLike<B>) | null): Promise<A | B> {
    return this.#all().then(resolve, reject);
  }
}

function keyOf(key: unknown): string {
  if (typeof key !== "string" && typeof key !== "number") throw new TypeError(`a key of a data store is a string; got ${kindOf(key)}`);
  const name = String(key);
  if (name === "" || name.length > KEY_MAX) throw new RangeError(`a key of a data store has 1 to ${KEY_MAX} characters; this has ${name.length}`);
  return name;
}

function ttlOf(ttl: unknown): number | null {
  if (ttl === undefined || ttl === null) return null;
  const seconds = Number(ttl);
  if (!Number.isFinite(seconds) || seconds <= 0) throw new RangeError(`\`ttl\` is a number of seconds above 0, or null for none; got ${kindOf(ttl)}`);
  return seconds;
}

/** The options of `set`. What is no option is refused: a value that was to end would stay for ever. */
function ttlIn(options: unknown): number | null {
  if (options === undefined || options === null) return null;
  const allowed = "allowed is an object of options, such as { ttl: 60 } for 60 seconds";
  if (typeof options !== "object" || Array.isArray(options)) throw new TypeError(`the third argument of \`set\` of a data store is ${kindOf(options)}; ${allowed}`);
  const unknown = Object.keys(options).find((name) => name !== "ttl");
  if (unknown !== undefined) throw new TypeError(`\`set\` of a data store has no option \`${unknown}\`; ${allowed}`);
  return ttlOf((options as { ttl?: unknown }).ttl);
}

/** `store`: the configured value that names it, as the server gave it. */
export function dataStore(store: unknown, call: CallContext): object {
  const send = (kind: string, payload: Bag = {}) => ask(call, `data_store.${kind}`, { store, ...payload });
  const paged = <T>(kind: string) =>
    new Paged<T>(async (after) => {
      const { items, next } = (await send(kind, { after, limit: PAGE })) as { items: T[]; next?: string };
      return { items, next };
    });
  const entries = () => paged<Entry>("entries");
  return {
    get: async (key: unknown) => await send("get", { key: keyOf(key) }),
    async set(key: unknown, value: unknown, options?: unknown): Promise<void> {
      const name = keyOf(key);
      const ttl = ttlIn(options);
      // A value that JSON leaves out is no value: it would come back as something else.
      if (jsonText(value, `the value of the key \`${name}\` in the data store`) === undefined) {
        throw new TypeError(`the value of the key \`${name}\` in the data store is undefined; use \`delete\` to remove a key`);
      }
      await send("set", { key: name, value, ...(ttl === null ? {} : { ttl }) });
    },
    setTtl: async (key: unknown, ttl: unknown): Promise<void> => void (await send("set_ttl", { key: keyOf(key), ttl: ttlOf(ttl) })),
    has: async (key: unknown) => (await send("has", { key: keyOf(key) })) === true,
    delete: async (key: unknown): Promise<void> => void (await send("delete", { key: keyOf(key) })),
    clear: async (): Promise<void> => void (await send("clear")),
    size: async () => Number(await send("size")),
    keys: () => paged<string>("keys"),
    entries,
    [Symbol.asyncIterator]: () => entries()[Symbol.asyncIterator](),
  };
}
