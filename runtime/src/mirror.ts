// `dir` props with `sync`: files of a store are written to /tmp before the code runs, and files
// that the code wrote there go into the store when it has ended well.
import { Buffer } from "node:buffer";
import fs from "node:fs";
import { dirname } from "node:path";

import { ask } from "./ask.ts";
import { listFiles, PART, readParts, uploadParts, type Listed } from "./files.ts";
import type { CallContext } from "./context.ts";
import { kindOf } from "./errors.ts";
import { ownOf, plainValue, type ResolvedProp } from "./props.ts";
import type { Bag } from "./types.ts";

// As they are before code can change them, and before /tmp is led elsewhere.
const { mkdir, open, readdir, rename, rm, rmdir, stat, writeFile } = fs.promises;
const { rmSync } = fs;

/** Where files are on their way; not a part of any store. */
const COMING = ".mirror";
/** Codes of errors where a path is a file and another needs it as a folder. */
const IN_THE_WAY = ["EEXIST", "ENOTDIR", "EISDIR", "ENOTEMPTY"];
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
    const store = plainValue(ownOf(values, name), false);
    if (store === undefined || store === null || store === "") return [];
    if (typeof store !== "string") throw new TypeError(`the prop \`${name}\` is the name of a file store, a string; got ${kindOf(store)}`);
    const mode = definition["accessMode"];
    return [{ store, reads: mode !== "write", writes: mode !== "read" }];
  });
}

/** Lays the files of stores into /tmp. What it gives puts files into the stores that the code wrote since. */
export async function mirror(dirs: Dir[], call: CallContext): Promise<() => Promise<void>> {
  const fresh: string[] = [];
  try {
    for (const dir of dirs) if (dir.reads) await layAll(dir.store, fresh, call);
  } catch (error) {
    // Later calls do not find a part of a store.
    for (const path of fresh) await takeDown(path);
    throw error;
  }
  const before = await walk();
  return async () => {
    const changed = [...(await walk())].filter(([path, state]) => !same(before.get(path), state));
    for (const dir of dirs) if (dir.writes && changed.length > 0) await store(dir.store, changed, call);
  };
}

/** `fresh`: gets the paths that were laid now. */
async function layAll(store: string, fresh: string[], call: CallContext): Promise<void> {
  for (let tries = 1; ; tries++) {
    try {
      const listed = await listFiles(store, call);
      const there = new Set(listed.map((file) => file.path));
      // First, as what was a file may be a folder now.
      for (const [path, known] of laid) if (known.store === store && !there.has(path)) await takeDown(path);
      for (const file of listed) if (await lay(store, file, call)) fresh.push(file.path);
      return;
    } catch (error) {
      // A file that was replaced while it was read.
      if ((error as Error).name !== "NotFound" || tries >= TRIES_MAX) throw error;
    }
  }
}

/** Removes a file that was laid, unless code changed it, and the folders that it leaves empty. */
async function takeDown(path: string): Promise<void> {
  const known = laid.get(path);
  laid.delete(path);
  if (!known || !same(await stateOf(path), known.state)) return;
  await rm(`${root}/${path}`, { force: true });
  for (let folder = dirname(path); folder !== "."; folder = dirname(folder)) {
    try {
      await rmdir(`${root}/${folder}`);
    } catch {
      return;
    }
  }
}

/** Whether the file was not there as it is. */
async function lay(store: string, file: Listed, call: CallContext): Promise<boolean> {
  const { path, id } = file;
  const known = laid.get(path);
  if (known?.store === store && known.id === id && same(await stateOf(path), known.state)) return false;
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
  } catch (error) {
    if (!IN_THE_WAY.includes((error as { code?: string }).code ?? "")) throw error;
    throw new Error(`the file store \`${store}\` cannot be mirrored with /tmp: for its file \`${path}\`, a folder would be made of a file there, or a file of a folder; delete or rename one of the two`);
  } finally {
    // Code that walks /tmp finds the store's files there and nothing else.
    if (--underWay === 0) rmSync(`${root}/${COMING}`, { recursive: true, force: true });
  }
  const state = await stateOf(path);
  if (state) laid.set(path, { store, id, state });
  return true;
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
