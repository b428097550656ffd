// Stacks that name an author's own files. Node does it too (`--enable-source-maps`), but reads the map of each module when that is loaded, of megabytes where
// packages are in it; here it is read for the first stack that asks.
import { readFileSync } from "node:fs";
import { SourceMap, type SourceMapping, type SourceMapPayload } from "node:module";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

import { plainStack, prepareStacks } from "./folders.ts";
import { JSON } from "./kept.ts";

interface Mapped {
  map: SourceMap;
  /** By the source's number: its path. */
  paths: string[];
  payload: SourceMapPayload;
}

/** The modules that code came in, and their maps once a stack asked for them; undefined: there is none. */
const maps = new Map<string, Mapped | undefined | "unread">();

function mapOf(path: string): Mapped | undefined {
  let found = maps.get(path);
  if (found === "unread") {
    try {
      const payload = JSON.parse(readFileSync(`${path}.map`, "utf8")) as SourceMapPayload;
      const pathOf = (source: string) => (source.startsWith("file://") ? fileURLToPath(source) : resolve(dirname(path), payload.sourceRoot ?? "", source));
      found = { map: new SourceMap(payload), paths: payload.sources.map(pathOf), payload };
    } catch {
      // A stack of what was loaded is better than none.
      found = undefined;
    }
    maps.set(path, found);
  }
  return found;
}

/** A stack in which places of modules are those of the files that they were made of. */
function withOwnFiles(stack: string): string {
  let shown = stack;
  for (const path of maps.keys()) {
    if (!shown.includes(path)) continue;
    const mapped = mapOf(path);
    if (!mapped) continue;
    const parts = shown.split(path);
    shown = parts.reduce((before, after) => {
      const [place, line, column] = /^:(\d+):(\d+)/.exec(after) ?? [];
      const entry = place === undefined ? undefined : (mapped.map.findEntry(Number(line) - 1, Number(column) - 1) as Partial<SourceMapping>);
      const at = entry?.originalSource === undefined ? -1 : mapped.payload.sources.indexOf(entry.originalSource);
      if (place === undefined || entry?.originalLine === undefined || entry.originalColumn === undefined || at < 0) return before + path + after;
      const own = before.endsWith("file://") ? before.slice(0, -7) : before;
      return `${own}${mapped.paths[at]}:${entry.originalLine + 1}:${entry.originalColumn + 1}${after.slice(place.length)}`;
    });
  }
  return shown;
}

/** From now on, stacks name the files that the module at `path` was made of; code gets them as `shown` has them. */
export function mapStacksOf(path: string, shown: (error: object, stack: string) => string): void {
  maps.set(path, "unread");
  prepareStacks((error, trace) => shown(error as object, withOwnFiles(plainStack(error, trace))), __filename);
}

/** Text in which a module is called by the file that it was made of: its author's, the last one that is of no package. */
export function withOwnNames(text: string): string {
  let shown = text;
  for (const path of maps.keys()) {
    if (!shown.includes(path)) continue;
    const own = mapOf(path)?.paths.findLast((source) => !source.includes("/node_modules/"));
    if (own !== undefined) shown = shown.replaceAll(path, own);
  }
  return shown;
}

/** The text of a file that a module was made of, as stacks name it; of the module itself where it was made of nothing else. */
export function sourceText(file: string): string | undefined {
  for (const path of maps.keys()) {
    const mapped = mapOf(path);
    const at = mapped?.paths.indexOf(file) ?? -1;
    const content: unknown = mapped ? mapped.payload.sourcesContent[at] : path === file ? readFileSync(path, "utf8") : undefined;
    if (typeof content === "string") return content;
  }
  return undefined;
}
