/**
 * Facts read from a component's code without running it: packages, hooks, dedupe strategy. Pure.
 */

/** Import specifiers that are packages; versions as the code pins them. */
export function packagesOf(code: string): { name: string; version: string | undefined }[] {
  const found = new Map<string, string | undefined>();
  const patterns = [
    /^\s*(?:import|export)\b[^"';]*?from\s*["']([^"']+)["']/gm,
    /^\s*import\s*["']([^"']+)["']/gm,
    /\brequire\(\s*["']([^"']+)["']\s*\)/g,
    /\bimport\(\s*["']([^"']+)["']\s*\)/g,
  ];
  for (const pattern of patterns) {
    for (const [, specifier = ""] of code.matchAll(pattern)) {
      if (specifier.startsWith(".") || specifier.startsWith("/") || specifier.startsWith("node:")) {
        continue;
      }
      const parts = specifier.split("/");
      const whole = parts.slice(0, specifier.startsWith("@") ? 2 : 1).join("/");
      const at = whole.indexOf("@", 1);
      const name = at > 0 ? whole.slice(0, at) : whole;
      if (!found.has(name)) found.set(name, at > 0 ? whole.slice(at + 1) : undefined);
    }
  }
  return [...found].map(([name, version]) => ({ name, version }));
}

const HOOKS = ["deploy", "activate", "deactivate"] as const;

/** Hooks that the code defines; what a spread brings in is not seen. */
export function hooksOf(code: string): (typeof HOOKS)[number][] {
  const start = code.search(/\bhooks\s*:\s*\{/);
  if (start < 0) return [];
  const block = code.slice(start, start + 20_000);
  return HOOKS.filter((hook) => new RegExp(`\\b(?:async\\s+)?${hook}\\s*(?:\\(|:)`).test(block));
}

export function linesOf(code: string): number {
  return code.split("\n").length;
}

/** The strategy by which the source drops events that it emitted before. */
export function dedupeOf(code: string): string | undefined {
  return /\bdedupe\s*:\s*["'](unique|greatest|last)["']/.exec(code)?.[1];
}

/** What the text pasted into the search is. */
export type Pasted =
  | { kind: "url"; url: string }
  | { kind: "key"; key: string }
  | { kind: "code"; code: string }
  | { kind: "words"; words: string };

export function pastedOf(text: string): Pasted {
  const trimmed = text.trim();
  if (/^https?:\/\/\S+$/.test(trimmed)) {
    // A page of the hosted platform, or this app's own address of a deploy, names a key.
    const url = new URL(trimmed);
    const key = url.searchParams.get("key");
    const other = url.searchParams.get("url");
    if (url.searchParams.get("action") === "create") {
      if (key !== null) return { kind: "key", key };
      if (other !== null) return { kind: "url", url: other };
    }
    return { kind: "url", url: trimmed };
  }
  if (/\bexport\s+default\b|\bmodule\.exports\b/.test(trimmed)) return { kind: "code", code: text };
  return { kind: "words", words: trimmed };
}
