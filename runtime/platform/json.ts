// JSON of whatever code has at hand: cycles, big integers and errors do not make it fail.

type Replacer = ((this: unknown, key: string, value: unknown) => unknown) | (string | number)[] | null;

/** Like `JSON.stringify`; a reference to an object that holds it becomes `"[Circular]"`, a value that cannot be read its reason. */
export function jsonStringifySafe(value: unknown, replacer?: Replacer, space?: string | number): string | undefined {
  const listed = Array.isArray(replacer) ? new Set(replacer.map(String)) : undefined;
  const own = typeof replacer === "function" ? replacer : undefined;
  // The objects from the outermost to the one being written, and what stands for each in the text; an object met
  // twice side by side is no cycle.
  const path: { object: unknown; written: unknown }[] = [];
  return JSON.stringify(
    value,
    function (this: unknown, key: string, given: unknown): unknown {
      const item = own ? own.call(this, key, given) : given;
      if (listed && key !== "" && !Array.isArray(this) && !listed.has(key)) return undefined;
      if (typeof item === "bigint") return item.toString();
      if (item === null || typeof item !== "object") return item;
      while (path.length > 0 && path.at(-1)?.written !== this) path.pop();
      if (path.some(({ object }) => object === item)) return "[Circular]";
      const written = item instanceof Error ? { ...item, name: item.name, message: item.message, stack: item.stack } : readable(item as Record<string, unknown>);
      path.push({ object: item, written });
      return written;
    },
    space,
  );
}

/** The object itself, or where a getter throws a copy that says so. */
function readable(item: Record<string, unknown>): unknown {
  try {
    for (const key in item) void item[key];
    return item;
  } catch {
    return Object.fromEntries(
      Object.keys(item).map((key) => {
        try {
          return [key, item[key]];
        } catch (error) {
          return [key, `[Throws: ${error instanceof Error ? error.message : String(error)}]`];
        }
      }),
    );
  }
}

/** A copy through JSON: what JSON cannot hold is left out. */
export function cloneSafe<T>(value: T): T {
  const text = jsonStringifySafe(value);
  return text === undefined ? (undefined as T) : (JSON.parse(text) as T);
}
