// Stacks that name an author's own files. Node does it too (`--enable-source-maps`), but reads the
// map of each module when the module is loaded, which is megabytes where packages are in it; here
// the map is read for the first stack that needs it.
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

/** The list of sources in a map's text. Quotes within strings are escaped: these are no string's. */
const SOURCES = /"sources":(\[(?:[^"\]]|"(?:[^"\\]|\\.)*")*\])/;

/** The path of a source that a module's map names. */
const pathOfSource = (path: string, source: string, root = ""): string => (source.startsWith("file://") ? fileURLToPath(source) : resolve(dirname(path), root, source));

function mapOf(path: string): Mapped | undefined {
  let found = maps.get(path);
  if (found === "unread") {
    try {
      const payload = JSON.parse(readFileSync(`${path}.map`, "utf8")) as SourceMapPayload;
      found = { map: new SourceMap(payload), paths: payload.sources.map((source) => pathOfSource(path, source, payload.sourceRoot)), payload };
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

/** By module: the author's file that it was made of, the last source that is of no package. */
const ownFiles = new Map<string, string | undefined>();

/** Reads the sources alone: parsing a whole map can take as long as the rest of a cold run. */
function ownFileOf(path: string): string | undefined {
  if (!ownFiles.has(path)) {
    let own: string | undefined;
    try {
      const sources = SOURCES.exec(readFileSync(`${path}.map`, "utf8"))?.[1];
      const last = (JSON.parse(sources ?? "[]") as string[]).findLast((source) => !/(?:^|\/)node_modules\//.test(source));
      if (last !== undefined) own = pathOfSource(path, last);
    } catch {
      // Without a map the module keeps its name; its folder is hidden all the same.
    }
    ownFiles.set(path, own);
  }
  return ownFiles.get(path);
}

/** Text in which a module is called by the file that it was made of. */
export function withOwnNames(text: string): string {
  let shown = text;
  for (const path of maps.keys()) {
    if (!shown.includes(path)) continue;
    const own = ownFileOf(path);
    if (own !== undefined) shown = shown.replaceAll(path, own);
  }
  return shown;
}

/** The text of a file that a module was made of, as stacks name it; of the module itself where it was made of nothing else. */
export function sourceText(file: string): string | undefined {
  for (const path of maps.keys()) {
    const mapped = mapOf(path);
    // A file that is evaluated is called as the map names it.
    const names = mapped?.paths.includes(file) ? mapped.paths : mapped?.payload.sources;
    const content: unknown = mapped ? mapped.payload.sourcesContent[names?.indexOf(file) ?? -1] : path === file ? readFileSync(path, "utf8") : undefined;
    if (typeof content === "string") return content;
  }
  return undefined;
}
