// Loading component modules: the default export in all shapes seen in the wild.
import fs, { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

import { hideFolderOf } from "./errors.ts";
import { Prepared } from "./instance.ts";
import type { Bag, Component } from "./types.ts";

export const modules = new Map<string, Prepared>();

const looksLikeComponent = (value: unknown): boolean =>
  value !== null && typeof value === "object" && ["key", "name", "run", "props", "hooks", "methods", "type"].some((field) => field in value);

/** Files that Node's loader of ES modules has open at once. */
const READS_MAX = 128;

/**
 * Bounds the files that Node's loader of ES modules has open. It opens all that a module imports before it reads the first of them: packages with
 * a thousand files would take all the descriptors that a host may have. The loader names files by addresses, which hardly anybody else does.
 */
export function boundReads(): void {
  const original = fs.promises.readFile as (...args: unknown[]) => Promise<unknown>;
  const waiting: (() => void)[] = [];
  let reading = 0;
  const bounded = async function (this: unknown, ...args: unknown[]): Promise<unknown> {
    if (!(args[0] instanceof URL)) return original.apply(this, args);
    if (reading < READS_MAX) reading++;
    else await new Promise<void>((go) => waiting.push(go));
    try {
      return await original.apply(this, args);
    } finally {
      const next = waiting.shift();
      if (next) next();
      else reading--;
    }
  };
  Object.defineProperties(bounded, Object.getOwnPropertyDescriptors(original));
  fs.promises.readFile = bounded as typeof fs.promises.readFile;
}

/** The text of modules; undefined where one has packages beside it, whose code is not in it. */
export function sourcesOf(list: { path: string }[], beside: (folder: string) => boolean): string[] | undefined {
  const sources: string[] = [];
  for (const { path } of list) {
    if (beside(dirname(path))) return undefined;
    // Only names are looked for in it.
    sources.push(readFileSync(path, "latin1"));
  }
  return sources;
}

export async function loadModules(list: { name: string; path: string }[]): Promise<void> {
  const identity = (component: unknown) => component;
  Object.assign(globalThis, { defineComponent: identity, defineSource: identity, defineAction: identity, defineApp: identity });
  await Promise.all(
    list.map(async ({ name, path }) => {
      hideFolderOf(path);
      const loaded = (await import(pathToFileURL(path).href)) as Bag;
      modules.set(name, new Prepared(defaultExport(loaded)));
    }),
  );
}

function defaultExport(loaded: Bag): Component {
  let found = loaded["default"];
  // A CommonJS module that was compiled from ES puts its default one level deeper.
  if (!looksLikeComponent(found) && found !== null && typeof found === "object" && "default" in found) {
    found = (found as Bag)["default"];
  }
  if (found === undefined && looksLikeComponent(loaded)) found = loaded;
  if (found === null || typeof found !== "object") {
    throw new TypeError("the module has no component as its default export; write `export default { name, version, run }` or `module.exports = { … }`");
  }
  return found as Component;
}

export function moduleOf(name: unknown): Prepared {
  const found = modules.get(String(name));
  if (!found) throw new Error(`the module ${String(name)} was not loaded`);
  return found;
}
