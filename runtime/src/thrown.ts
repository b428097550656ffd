// Printable views of thrown values: causes, the errors of an AggregateError and further fields, as
// Node prints them, but bounded and without requests, responses and secrets.
import { inspect, type InspectOptions, types } from "node:util";

import { className, isA, isData, isError, isPlain, isResponse, read } from "./instances.ts";
import { masked, SECRET, TRAFFIC } from "./masked.ts";
import type { Bag } from "./types.ts";

/** Levels of causes and nested errors. */
const ERRORS_DEEP_MAX = 8;
/** Levels of plain data. */
const DATA_DEEP_MAX = 4;
/** Entries of one list or object. */
const ENTRIES_MAX = 20;
/** Values of one view in all, so that a wide and deep one stays cheap. */
const VALUES_MAX = 500;
/** Characters of one text. */
const TEXT_MAX = 2000;
/** Causes that a message names. */
const NAMED_MAX = 5;

/** Commands of databases whose arguments are credentials: Redis's. */
const SECRET_COMMAND = /^(auth|hello|acl|config|migrate)$/i;

/** Text that `inspect` shows as it is. */
class Raw {
  readonly #text: string;
  constructor(text: string) {
    this.#text = text;
  }
  [inspect.custom](): string {
    return this.#text;
  }
}

/** The fields of an instance, behind the name of its class. */
class Instance {
  readonly #name: string;
  readonly #fields: Bag;
  constructor(name: string, fields: Bag) {
    this.#name = name;
    this.#fields = fields;
  }
  [inspect.custom](_depth: unknown, options: InspectOptions): string {
    return `${this.#name} ${inspect(this.#fields, options)}`;
  }
}

const HIDDEN = new Raw("[hidden]");
const CIRCULAR = new Raw("[Circular]");
const DEEPER = new Raw("[…]");

export function isErrorLike(value: unknown): value is object {
  try {
    return value !== null && typeof value === "object" && (types.isNativeError(value) || value instanceof Error || "message" in value);
  } catch {
    return false;
  }
}

/** What an object that stands for a primitive value holds. */
function primitiveOf(value: unknown): unknown {
  if (types.isStringObject(value)) return String.prototype.valueOf.call(value);
  if (types.isNumberObject(value)) return Number.prototype.valueOf.call(value);
  if (types.isBooleanObject(value)) return Boolean.prototype.valueOf.call(value);
  if (types.isBigIntObject(value)) return BigInt.prototype.valueOf.call(value);
  return types.isSymbolObject(value) ? Symbol.prototype.valueOf.call(value) : value;
}

/** A function or class by its name, as Node prints it. */
function functionName(value: object): string {
  const name = read(value, "name");
  const shown = typeof name === "string" ? name : "";
  const isClass = !types.isProxy(value) && /^class\b/.test(Function.prototype.toString.call(value));
  if (!isClass) return shown === "" ? "[Function (anonymous)]" : `[Function: ${shown}]`;
  const base = read(Object.getPrototypeOf(value), "name");
  return `[class ${shown === "" ? "(anonymous)" : shown}${typeof base === "string" && base !== "" ? ` extends ${base}` : ""}]`;
}

function shortened(text: string): string {
  const head = text.length <= TEXT_MAX ? text : `${text.slice(0, TEXT_MAX)}… [${text.length - TEXT_MAX} more characters]`;
  return masked(head);
}

/** Whether an argument of a command is the secret of the option before it: `spawnargs: ["--password", "…"]`. */
function isOfOption(argument: unknown, before: unknown): boolean {
  if (typeof argument !== "string" || typeof before !== "string" || !before.startsWith("-") || before.length + argument.length > TEXT_MAX) return false;
  const both = `${before} ${argument}`;
  return masked(argument) === argument && masked(both) !== both;
}

/** What an HTTP client was asked, under whatever name it stands. */
const isRequest = (value: object): boolean => "headers" in value && ("method" in value || "url" in value || "baseURL" in value);

/** Of an answer, as much as says what was asked and how it ended. */
function shownResponse(value: object): Raw {
  const textOf = (field: unknown) => inspect(typeof field === "string" ? shortened(field) : "");
  const url = read(value, "url") || read(read(value, "request"), "url");
  const status = read(value, "status") ?? read(value, "statusCode");
  const statusText = read(value, "statusText") ?? read(value, "statusMessage");
  return new Raw(`${className(value)} { status: ${Number(status)}, statusText: ${textOf(statusText)}, url: ${textOf(url)} }`);
}

/** Fields by which what validates names the one whose value it refuses. */
const NAMING = ["property", "path", "field", "key"];

/** Whether an object says of a value that it is that of a secret: `{ property: "password", value: "…" }`. */
const isOfSecret = (value: object): boolean =>
  NAMING.some((name) => {
    const named: unknown = Object.getOwnPropertyDescriptor(value, name)?.value;
    return (Array.isArray(named) ? (named as unknown[]) : [named]).some((part) => typeof part === "string" && SECRET.test(part));
  });

/** What a map and a set hold, of whatever realm they are. */
const sizeOfMap = Object.getOwnPropertyDescriptor(Map.prototype, "size")!.get as (this: Map<unknown, unknown>) => number;
const sizeOfSet = Object.getOwnPropertyDescriptor(Set.prototype, "size")!.get as (this: Set<unknown>) => number;

/** Makes views of one thrown value and of all that hangs on it. */
class Views {
  readonly #stackOf: (error: object) => string;
  /** The objects from the outermost to the one that is viewed. */
  readonly #path: object[] = [];
  #left = VALUES_MAX;

  constructor(stackOf: (error: object) => string) {
    this.#stackOf = stackOf;
  }

  of(value: unknown, errors: number, data: number): unknown {
    if (typeof value === "string") return shortened(value);
    if (typeof value === "function") return new Raw(functionName(value));
    if (value === null || typeof value !== "object") return value;
    if (this.#path.includes(value)) return CIRCULAR;
    if (this.#left-- <= 0) return DEEPER;
    this.#path.push(value);
    try {
      return isError(value) ? this.#error(value, errors + 1) : this.#object(value, errors, data);
    } catch {
      return new Raw(types.isProxy(value) ? "[Proxy]" : "[a value that cannot be shown]");
    } finally {
      this.#path.pop();
    }
  }

  /** Of the thrown error itself; `stack` stands in the place of its own. */
  thrown(error: object, stack: string): unknown {
    this.#path.push(error);
    return this.#error(error, 0, stack);
  }

  #error(error: object, depth: number, stack?: string): unknown {
    if (depth > ERRORS_DEEP_MAX) return new Raw(`[${className(error)}]`);
    const shown = Object.create(Error.prototype) as object;
    const put = (name: string, value: unknown, enumerable: boolean) => Object.defineProperty(shown, name, { value, enumerable, configurable: true, writable: true });
    put("stack", stack ?? this.#stackOf(error), false);
    const own = ["stack", "message", "name", "cause", "errors"];
    this.#fields(error, depth, 0, (name, value) => void (own.includes(name) || put(name, value, true)));
    this.#status(error, (name, value) => put(name, value, true));
    const cause = read(error, "cause");
    // Some classes have a method of that name.
    if (cause !== undefined && typeof cause !== "function") put("cause", this.of(cause, depth, 0), false);
    const errors = read(error, "errors");
    if (errors !== undefined && typeof errors !== "function") put("errors", this.of(errors, depth, 0), !Array.isArray(errors));
    // Both errors of a SuppressedError are fields that are not listed, where it is the engine's own.
    for (const name of ["error", "suppressed"]) {
      const listed = Object.getOwnPropertyDescriptor(error, name)?.enumerable;
      if (listed === false) put(name, this.of(read(error, name), depth, 0), true);
    }
    return shown;
  }

  /** Clients of older make leave the status with the response, which is not shown. */
  #status(value: object, put: (name: string, view: unknown) => void): void {
    const status = read(value, "status") ?? read(value, "statusCode");
    const response = read(value, "response") ?? read(value, "res");
    const answered = read(response, "status") ?? read(response, "statusCode");
    if (status === undefined && typeof answered === "number") put("status", answered);
  }

  #fields(value: object, errors: number, data: number, put: (name: string, view: unknown) => void): void {
    const names = Object.keys(value);
    for (const name of names.slice(0, ENTRIES_MAX)) {
      // An address may be a field's name.
      const shown = masked(name);
      if (TRAFFIC.has(name.toLowerCase())) continue;
      const descriptor = Object.getOwnPropertyDescriptor(value, name);
      if (!descriptor) continue;
      const { value: field } = descriptor as { value: unknown };
      const isOfCommand = name === "args" && SECRET_COMMAND.test(String(typeof value === "object" && read(value, "name")));
      if (descriptor.get) put(shown, new Raw("[Getter]"));
      else if (isOfCommand) put(shown, HIDDEN);
      else if (field === undefined) continue;
      else if ((SECRET.test(name) || (/value$/i.test(name) && isOfSecret(value))) && field !== null && (typeof field === "string" || typeof field === "object")) put(shown, HIDDEN);
      else put(shown, this.of(field, errors, data + 1));
    }
    if (names.length > ENTRIES_MAX) put("…", new Raw(`${names.length - ENTRIES_MAX} more`));
  }

  #entries(value: object, errors: number, data: number): unknown {
    const isMap = types.isMap(value);
    const kind = isMap ? "Map" : "Set";
    const size = isMap ? sizeOfMap.call(value) : sizeOfSet.call(value as Set<unknown>);
    if (data > DATA_DEEP_MAX) return new Raw(`${kind}(${size})`);
    const shown: unknown[] = [];
    if (isMap) {
      for (const [key, field] of firstOf(Map.prototype.entries.call(value))) {
        const isSecret = typeof key === "string" && SECRET.test(key) && field !== null && (typeof field === "string" || typeof field === "object");
        if (typeof key === "string" && TRAFFIC.has(key.toLowerCase())) continue;
        shown.push(`${inspect(this.of(key, errors, data + 1), ONE_LINE)} => ${inspect(isSecret ? HIDDEN : this.of(field, errors, data + 1), ONE_LINE)}`);
      }
    } else {
      for (const item of firstOf(Set.prototype.values.call(value))) shown.push(inspect(this.of(item, errors, data + 1), ONE_LINE));
    }
    if (size > ENTRIES_MAX) shown.push(`… ${size - ENTRIES_MAX} more items`);
    return new Raw(shown.length === 0 ? `${kind}(${size}) {}` : `${kind}(${size}) { ${shown.join(", ")} }`);
  }

  #object(value: object, errors: number, data: number): unknown {
    if (Array.isArray(value)) {
      if (data > DATA_DEEP_MAX) return new Raw("[Array]");
      const items = value.slice(0, ENTRIES_MAX).map((item: unknown, at) => (isOfOption(item, value[at - 1]) ? HIDDEN : this.of(item, errors, data + 1)));
      return value.length > ENTRIES_MAX ? [...items, new Raw(`… ${value.length - ENTRIES_MAX} more items`)] : items;
    }
    if (types.isDate(value)) return new Date(Number(value));
    if (types.isRegExp(value)) return new Raw(masked(String(value)));
    if (value instanceof URL) return new Raw(masked(value.href));
    if (ArrayBuffer.isView(value)) return new Raw(`<${className(value)} of ${value.byteLength} bytes>`);
    if (types.isBoxedPrimitive(value)) {
      const inner = primitiveOf(value);
      return new Raw(`[${className(value)}: ${inspect(typeof inner === "string" ? shortened(inner) : inner)}]`);
    }
    if (types.isMap(value) || types.isSet(value)) return this.#entries(value, errors, data);
    if (isA(value, Request)) return new Raw(`Request { method: ${inspect(value.method)}, url: ${inspect(masked(value.url))} }`);
    if (isResponse(value)) return shownResponse(value);
    if (this.#path.length > 1 && isRequest(value)) return HIDDEN;
    const plain = isPlain(value);
    if (data > DATA_DEEP_MAX) return new Raw(`[${className(value)}]`);
    // Of a client, a connection or a model among the fields of an error, its class says enough, and its message where it has one.
    if (!plain && this.#path.length > 1 && !isData(value)) {
      const message = read(value, "message");
      return new Raw(typeof message === "string" ? `[${className(value)}: ${shortened(message)}]` : `[${className(value)}]`);
    }
    const shown: Bag = {};
    const put = (name: string, view: unknown) => void Object.defineProperty(shown, name, { value: view, enumerable: true, configurable: true, writable: true });
    // Its type is what it is, and a field of its class.
    if (isA(value, Event)) put("type", read(value, "type"));
    this.#fields(value, errors, data, put);
    this.#status(value, put);
    return plain ? shown : new Instance(className(value), shown);
  }
}

/** The first of what a map or set holds, and how much of it there is. */
function* firstOf<T>(all: Iterable<T>): Generator<T> {
  let left = ENTRIES_MAX;
  for (const one of all) {
    if (left-- === 0) return;
    yield one;
  }
}

const ONE_LINE = { depth: null, compact: true, breakLength: Infinity } as const;

/** What code threw that is no error, in one line. */
export function shownValue(value: unknown): string {
  if (typeof value === "string") return value === "" ? "''" : value;
  try {
    return inspect(new Views(String).of(value, 0, 0), ONE_LINE);
  } catch {
    return "[a value that cannot be shown]";
  }
}

/** A stack that no error has: what `inspect` adds to it is found behind it. */
const NO_STACK = "E\n    at";

/** What Node prints of an error behind its stack: its fields, its cause, the errors that it stands for. Empty where there is nothing. */
export function shownBehind(error: object, stackOf: (error: object) => string): string {
  try {
    const text = inspect(new Views(stackOf).thrown(error, NO_STACK), { depth: null });
    return text.startsWith(NO_STACK) ? text.slice(NO_STACK.length) : "";
  } catch {
    return "";
  }
}

/** Says nothing by itself: what lay behind it is to be named. A TypeError with a cause is how `fetch` says that it failed. */
function isVague(error: object, name: string, message: string): boolean {
  return message === "" || message === "Error" || message === name || ["AggregateError", "SuppressedError", "TypeError"].includes(name);
}

function ownMessage(error: object): string {
  try {
    const given = (error as Bag)["message"];
    return given === undefined || given === null ? "" : typeof given === "string" ? given : shownValue(given);
  } catch {
    return "[a message that cannot be read]";
  }
}

/** The message of an error and, where it says nothing by itself, of what lay behind it. */
export function messageOf(error: object, depth = 0): string {
  const name = read(error, "name");
  const message = ownMessage(error);
  if (depth > ERRORS_DEEP_MAX || !isVague(error, typeof name === "string" ? name : "", message)) return message;
  const errors = read(error, "errors");
  const cause = read(error, "cause");
  const suppressed = name === "SuppressedError" ? [read(error, "error"), read(error, "suppressed")] : [];
  const behind = [...(Array.isArray(errors) ? (errors as unknown[]) : []), ...suppressed, ...(cause === undefined || cause === "" || typeof cause === "function" ? [] : [cause])];
  const said = new Set<string>();
  for (const one of behind.slice(0, NAMED_MAX)) {
    const text = isErrorLike(one) ? messageOf(one, depth + 1) : shownValue(one);
    if (text !== "" && !message.includes(text)) said.add(text);
  }
  if (behind.length > NAMED_MAX) said.add(`and ${behind.length - NAMED_MAX} more`);
  if (said.size === 0) return message === "" ? codeOf(error) : message;
  return message === "" || message === "Error" ? [...said].join("; ") : `${message}: ${[...said].join("; ")}`;
}

/** What an error without a message has that tells something. */
function codeOf(error: object): string {
  for (const field of ["code", "errno", "statusText", "status", "statusCode"]) {
    const value = read(error, field);
    if ((typeof value === "string" && value !== "") || typeof value === "number") return String(value);
  }
  return "";
}
