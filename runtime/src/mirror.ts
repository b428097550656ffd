// `dir` props with `sync`: files of a store are written to /tmp before the code runs, and files
// that the code wrote there go into the store when it has ended well.
import { Buffer } from "node:buffer";
import fs from "node:fs";
import { dirname } from "node:path";

import { ask } from "./ask.ts";
import { listFiles, PART, readParts, uploadParts, type Listed } from "./files.ts";
import type { CallContext } from "./context.ts";
import { kindOf } from "./errors.ts";
import { plainValue, type ResolvedProp } from "./props.ts";
import type { Bag } from "./types.ts";

// As they are before code can change them, and before /tmp is led elsewhere.
const { mkdir, open, readdir, rename, rm, stat, writeFile } = fs.promises;
const { rmSync } = fs;

/** Where files are on their way; not a part of any store. */
const COMING = ".mirror";
/** How often a store is read anew that others change meanwhile. */
const TRIES_MAX = 5;

/** A store that a prop names. */
export interface Dir {
  store: string;
  reads: boolean;
  writes: boolean;
}

interface State {
  size: number;
  mtimeMs: number;
  ino: number;
}

const same = (a: State | undefined, b: State | undefined): boolean => a?.size === b?.size && a?.mtimeMs === b?.mtimeMs && a?.ino === b?.ino;

let root = "";
let coming = 0;
/** Files that are on their way at this moment. */
let underWay = 0;
/** What a mirror put there, by path: it is not fetched again while it is as it was. */
const laid = new Map<string, { store: string; id: string; state: State }>();

/** The host's own folder, which stands for /tmp. */
export function mirrorInto(own: string): void {
  root = own;
}

/** Stores that `dir` props of a component mirror with /tmp. */
export function dirsOf(props: ResolvedProp[], values: Bag): Dir[] {
  return props.flatMap(({ name, type, definition }) => {
    if (type !== "dir" || definition["sync"] !== true) return [];
    const store = plainValue(values[name], false);
    if (store === undefined || store === null || store === "") return [];
    if (typeof store !== "string") throw new TypeError(`the prop \`${name}\` is the name of a file store, a string; got ${kindOf(store)}`);
    const mode = definition["accessMode"];
    return [{ store, reads: mode !== "write", writes: mode !== "read" }];
  });
}

/** Lays the files of stores into /tmp. What it gives puts files into the stores that the code wrote since. */
export async function mirror(dirs: Dir[], call: CallContext): Promise<() => Promise<void>> {
  for (const dir of dirs) if (dir.reads) await layAll(dir.store, call);
  const before = await walk();
  return async () => {
    const changed = [...(await walk())].filter(([path, state]) => !same(before.get(path), state));
    for (const dir of dirs) if (dir.writes && changed.length > 0) await store(dir.store, changed, call);
  };
}

async function layAll(store: string, call: CallContext): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const listed = await listFiles(store, call);
      for (const file of listed) await lay(store, file, call);
      const there = new Set(listed.map((file) => file.path));
      for (const [path, known] of laid) {
        if (known.store !== store || there.has(path)) continue;
        if (same(await stateOf(path), known.state)) await rm(`${root}/${path}`, { force: true });
        laid.delete(path);
      }
      return;
    } catch (error) {
      // A file that was replaced while it was read.
      if ((error as Error).name !== "NotFound" || tries >= TRIES_MAX) throw error;
    }
  }
}

async function lay(store: string, file: Listed, call: CallContext): Promise<void> {
  const { path, id } = file;
  const known = laid.get(path);
  if (known?.store === store && known.id === id && same(await stateOf(path), known.state)) return;
  const parts: Buffer[] = [];
  for await (const part of readParts(store, file, call)) parts.push(part);
  // Calls beside this one never see a half of it.
  const half = `${root}/${COMING}/${++coming}`;
  underWay++;
  try {
    await mkdir(dirname(half), { recursive: true });
    await writeFile(half, parts);
    await mkdir(dirname(`${root}/${path}`), { recursive: true });
    await rename(half, `${root}/${path}`);
  } finally {
    // Code that walks /tmp finds the store's files there and nothing else.
    if (--underWay === 0) rmSync(`${root}/${COMING}`, { recursive: true, force: true });
  }
  const state = await stateOf(path);
  if (state) laid.set(path, { store, id, state });
}

async function store(name: string, changed: [string, State][], call: CallContext): Promise<void> {
  const files: [string, string][] = [];
  for (const [path] of changed) {
    const id = await send(name, path, call);
    if (id !== undefined) files.push([id, path]);
  }
  await ask(call, "files.keep", { store: name, files });
  const states = new Map(changed);
  for (const [id, path] of files) {
    const state = states.get(path);
    if (state) laid.set(path, { store: name, id, state });
  }
}

/** The id of the file's copy; undefined where it is gone meanwhile. */
async function send(store: string, path: string, call: CallContext): Promise<string | undefined> {
  const file = await open(`${root}/${path}`).catch((error: unknown) => {
    if ((error as { code?: string }).code === "ENOENT") return undefined;
    throw error;
  });
  if (!file) return undefined;
  try {
    return await uploadParts(store, partsOf(file), undefined, call);
  } finally {
    await file.close();
  }
}

async function* partsOf(file: fs.promises.FileHandle): AsyncGenerator<Buffer> {
  const part = Buffer.allocUnsafe(PART);
  for (let position = 0; ; position++) {
    const { bytesRead } = await file.read(part, 0, PART, position * PART);
    if (bytesRead > 0) yield part.subarray(0, bytesRead);
    if (bytesRead < PART) return;
  }
}

async function stateOf(path: string): Promise<State | undefined> {
  try {
    const { size, mtimeMs, ino } = await stat(`${root}/${path}`);
    return { size, mtimeMs, ino };
  } catch {
    return undefined;
  }
}

/** Plain files below /tmp by path, with what tells whether they change. */
async function walk(): Promise<Map<string, State>> {
  const found = new Map<string, State>();
  for (const entry of await readdir(root, { recursive: true, withFileTypes: true })) {
    const path = `${entry.parentPath ?? (entry as { path?: string }).path}/${entry.name}`.slice(root.length + 1);
    if (!entry.isFile() || path.startsWith(`${COMING}/`)) continue;
    const state = await stateOf(path);
    if (state) found.set(path, state);
  }
  return found;
}
