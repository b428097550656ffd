// Loading component modules: the default export in all shapes seen in the wild.
import { readFileSync } from "node:fs";
import { dirname } from "node:path";
import { pathToFileURL } from "node:url";

import { hideFolderOf } from "./errors.ts";
import { Prepared } from "./instance.ts";
import type { Bag, Component } from "./types.ts";

export const modules = new Map<string, Prepared>();

const looksLikeComponent = (value: unknown): boolean =>
  value !== null && typeof value === "object" && ["key", "name", "run", "props", "hooks", "methods", "type"].some((field) => field in value);

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
