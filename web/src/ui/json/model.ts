/**
 * Model of the JSON tree: which rows are shown, in their order, for a value and the set of open containers.
 * Rows are made lazily: a container costs nothing until it is open, and an array opens in ranges of 100.
 */

import { readExact, WrittenNumber } from "~/json/exact";

export type Path = readonly (string | number)[];

/** Members of one range of a long array. */
export const RANGE = 100;
const DEEPEST_JSON_IN_STRING = 1;

export type Row = {
  /** Identity of the row: its path, spelled. */
  key: string;
  path: Path;
  depth: number;
  /** Name in its container; `null` for the root and for ranges. */
  name: string | number | null;
  value: unknown;
  kind: "leaf" | "open" | "closed" | "range";
  /** For ranges: first and last index. */
  range?: { from: number; to: number };
  /** Members of a container. */
  size: number;
  /** The string holds JSON, which is shown below it. */
  parsed?: boolean;
  /** Place among its siblings, for the tree pattern. */
  position: number;
  siblings: number;
};

export type Open = ReadonlySet<string>;

export function isContainer(value: unknown): value is object {
  return typeof value === "object" && value !== null && !(value instanceof WrittenNumber);
}

/** Whether a value is the mark of one that the server cut: `$truncated`, and where they are known `$bytes` or `$chars`, and `$preview`. */
export function isCut(value: unknown): value is { $truncated: true } {
  return isContainer(value) && "$truncated" in value && value.$truncated === true;
}

/** What a cut value says of its whole: its bytes, its characters, or neither. */
export function cutOf(value: unknown): { bytes?: number; chars?: number } | undefined {
  if (!isCut(value)) return undefined;
  return {
    ...("$bytes" in value && typeof value.$bytes === "number" ? { bytes: value.$bytes } : {}),
    ...("$chars" in value && typeof value.$chars === "number" ? { chars: value.$chars } : {}),
  };
}

export function sizeOf(value: unknown): number {
  if (Array.isArray(value)) return value.length;
  return isContainer(value) ? Object.keys(value).length : 0;
}

export function keyOf(path: Path): string {
  return JSON.stringify(path);
}

/** A string that is a JSON object or array, parsed. */
export function parsedString(value: unknown): object | undefined {
  if (typeof value !== "string" || value.length < 2) return undefined;
  const first = value.trimStart().charAt(0);
  if (first !== "{" && first !== "[") return undefined;
  try {
    const parsed = readExact(value);
    return isContainer(parsed) ? parsed : undefined;
  } catch {
    return undefined;
  }
}

/** All rows that are shown. */
export function rowsOf(root: unknown, open: Open): Row[] {
  const rows: Row[] = [];
  if (!isContainer(root)) {
    rows.push(rowOf(root, [], 0, null, open, 0, 1));
    return rows;
  }
  // The root's own line is left out: its members stand at the margin.
  members(root, [], 0, open, rows);
  return rows;
}

function rowOf(
  value: unknown,
  path: Path,
  depth: number,
  name: Row["name"],
  open: Open,
  position: number,
  siblings: number,
): Row {
  const key = keyOf(path);
  const inside = isContainer(value) ? value : parsedString(value);
  const size = sizeOf(inside);
  const kind = size === 0 ? "leaf" : open.has(key) ? "open" : "closed";
  return {
    key,
    path,
    depth,
    name,
    value,
    kind,
    size,
    position,
    siblings,
    ...(inside !== value && inside !== undefined ? { parsed: true } : {}),
  };
}

function members(container: object, path: Path, depth: number, open: Open, rows: Row[]): void {
  const list = Array.isArray(container) ? container : undefined;
  if (list !== undefined && list.length > RANGE) {
    const ranges = Math.ceil(list.length / RANGE);
    for (let index = 0; index < ranges; index += 1) {
      const from = index * RANGE;
      const to = Math.min(from + RANGE, list.length) - 1;
      const key = rangeKey(path, from);
      const isOpen = open.has(key);
      rows.push({
        key,
        path,
        depth,
        name: null,
        value: list,
        kind: isOpen ? "open" : "range",
        range: { from, to },
        size: to - from + 1,
        position: index,
        siblings: ranges,
      });
      if (!isOpen) continue;
      for (let at = from; at <= to; at += 1) {
        push(list[at], [...path, at], depth + 1, at, open, rows, at - from, to - from + 1);
      }
    }
    return;
  }
  const entries: [string | number, unknown][] =
    list !== undefined ? list.map((item, index) => [index, item]) : Object.entries(container);
  entries.forEach(([name, value], index) => {
    push(value, [...path, name], depth, name, open, rows, index, entries.length);
  });
}

function push(
  value: unknown,
  path: Path,
  depth: number,
  name: string | number,
  open: Open,
  rows: Row[],
  position: number,
  siblings: number,
): void {
  const row = rowOf(value, path, depth, name, open, position, siblings);
  rows.push(row);
  if (row.kind !== "open") return;
  const inside = isContainer(value) ? value : parsedString(value);
  if (inside !== undefined) members(inside, path, depth + 1, open, rows);
}

export function rangeKey(path: Path, from: number): string {
  return `${keyOf(path)}@${from}`;
}

/** Containers that are open at first: small ones near the root, so that a usual event is seen whole. */
export function firstOpen(root: unknown, most = 60): Set<string> {
  const open = new Set<string>();
  let shown = sizeOf(root);
  let level: { value: object; path: Path }[] = isContainer(root) ? [{ value: root, path: [] }] : [];
  while (level.length > 0 && shown < most) {
    const next: typeof level = [];
    for (const { value, path } of level) {
      if (Array.isArray(value) && value.length > RANGE) continue;
      const entries: [string | number, unknown][] = Array.isArray(value)
        ? value.map((item, index) => [index, item])
        : Object.entries(value);
      for (const [name, member] of entries) {
        if (!isContainer(member) || sizeOf(member) === 0) continue;
        if (shown + sizeOf(member) > most) continue;
        const at = [...path, name];
        open.add(keyOf(at));
        shown += sizeOf(member);
        next.push({ value: member, path: at });
      }
    }
    level = next;
  }
  return open;
}

const PLAIN_NAME = /^[A-Za-z_$][\w$]*$/;

/** The path as code: `steps.trigger.event.body.items[0].id`. */
export function pathText(base: string, path: Path): string {
  let text = base;
  for (const part of path) {
    if (typeof part === "number") text += `[${part}]`;
    else if (PLAIN_NAME.test(part)) text += text === "" ? part : `.${part}`;
    else text += `[${JSON.stringify(part)}]`;
  }
  return text;
}

/** Names that jq takes after a dot: a dollar begins a variable there. */
const JQ_NAME = /^[A-Za-z_]\w*$/;

/** The path for `jq`: `.body.items[0].id`. */
export function jqPath(path: Path): string {
  const text = path
    .map((part) =>
      typeof part === "string" && JQ_NAME.test(part) ? `.${part}` : `[${JSON.stringify(part)}]`,
    )
    .join("");
  return text.startsWith(".") ? text : `.${text}`;
}

/** The containers that must be open for the path to be shown. */
export function openFor(root: unknown, path: Path): string[] {
  const keys: string[] = [];
  let value = root;
  for (let index = 0; index < path.length; index += 1) {
    const part = path[index];
    const here = path.slice(0, index);
    if (index > 0) keys.push(keyOf(here));
    const inside: unknown = isContainer(value) ? value : parsedString(value);
    if (Array.isArray(inside) && inside.length > RANGE && typeof part === "number") {
      keys.push(rangeKey(here, Math.floor(part / RANGE) * RANGE));
    }
    value = part === undefined ? undefined : member(inside, part);
  }
  return keys;
}

function member(container: unknown, name: string | number): unknown {
  if (Array.isArray(container)) return typeof name === "number" ? container[name] : undefined;
  if (!isContainer(container)) return undefined;
  return Object.getOwnPropertyDescriptor(container, name)?.value;
}

export type Hit = { path: Path; in: "name" | "value" };

/** Places whose name or text holds the words, in the order of the tree; at most `most`. */
export function search(root: unknown, words: string, most = 10_000): Hit[] {
  const needle = words.toLowerCase();
  const hits: Hit[] = [];
  if (needle === "") return hits;
  const walk = (value: unknown, path: Path, strings: number): void => {
    if (hits.length >= most) return;
    if (isContainer(value)) {
      const entries: Iterable<[string | number, unknown]> = Array.isArray(value)
        ? value.entries()
        : Object.entries(value);
      for (const [name, inner] of entries) {
        const at = [...path, name];
        if (typeof name === "string" && name.toLowerCase().includes(needle)) {
          hits.push({ path: at, in: "name" });
        }
        walk(inner, at, strings);
      }
      return;
    }
    const inside = strings < DEEPEST_JSON_IN_STRING ? parsedString(value) : undefined;
    if (inside !== undefined) walk(inside, path, strings + 1);
    else if (String(value).toLowerCase().includes(needle)) hits.push({ path, in: "value" });
  };
  walk(root, [], 0);
  return hits;
}

const EARLIEST = Date.UTC(2001, 0, 1);
const LATEST = Date.UTC(2100, 0, 1);
const ISO_TIME = /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:?\d\d)$/;
const TIME_NAME = /(^|_|[a-z])(ts|at|time|timestamp|date|created|updated|expires|modified|ms)$/i;

/** The moment that a value is, if it looks like one: ISO text, or epoch figures under a name that says so. */
export function momentOf(name: string | number | null, value: unknown): number | undefined {
  if (typeof value === "string" && ISO_TIME.test(value)) {
    const at = Date.parse(value);
    return Number.isNaN(at) ? undefined : at;
  }
  if (typeof value !== "number" || !Number.isInteger(value) || typeof name !== "string") {
    return undefined;
  }
  if (!TIME_NAME.test(name)) return undefined;
  for (const at of [value, value * 1_000]) if (at >= EARLIEST && at < LATEST) return at;
  return undefined;
}

const IMAGE = /^data:image\/(png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=]+$/;
const IMAGE_STARTS: readonly [string, string][] = [
  ["iVBORw0KGgo", "image/png"],
  ["/9j/", "image/jpeg"],
  ["R0lGOD", "image/gif"],
  ["UklGR", "image/webp"],
];
const IMAGE_LEAST = 80;

/** A data address of the image that a text is, if it is one. */
export function imageOf(value: unknown): string | undefined {
  if (typeof value !== "string" || value.length < IMAGE_LEAST) return undefined;
  if (IMAGE.test(value)) return value;
  const kind = IMAGE_STARTS.find(([start]) => value.startsWith(start))?.[1];
  return kind !== undefined && /^[A-Za-z0-9+/=\s]+$/.test(value)
    ? `data:${kind};base64,${value}`
    : undefined;
}

/** What a closed container holds, in a few words. */
export function hintOf(value: unknown, most = 60): string {
  const parts: string[] = [];
  let length = 0;
  const members = Array.isArray(value) ? value : isContainer(value) ? Object.values(value) : [];
  for (const member of members) {
    if (isContainer(member) || member === null || member === "") continue;
    const text = String(member).replaceAll(/\s+/g, " ");
    parts.push(text.length > 24 ? `${text.slice(0, 23)}…` : text);
    length += text.length + 2;
    if (length > most) break;
  }
  return parts.join(", ").slice(0, most);
}

export function typeOf(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "array";
  return value instanceof WrittenNumber ? "number" : typeof value;
}
