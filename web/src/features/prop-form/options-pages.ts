/** Options of a prop over the pages that its code returned. Pure. */

import type { Option } from "~/api/props";

type Page = { options: readonly Option[] };

/** Identity of an option: its value, spelled. */
export function keyOf(value: unknown): string {
  return typeof value === "string" ? value : JSON.stringify(value);
}

/** All options, each value once: code without pages returns the same ones for every page. */
export function optionsIn(pages: readonly Page[]): Option[] {
  const byKey = new Map<string, Option>();
  for (const option of pages.flatMap((page) => page.options)) {
    const key = keyOf(option.value);
    if (!byKey.has(key)) byKey.set(key, option);
  }
  return [...byKey.values()];
}

/** Whether the last page brought options that are on no page before it: else there is no next one. */
export function bringsNew(pages: readonly Page[]): boolean {
  return optionsIn(pages).length > optionsIn(pages.slice(0, -1)).length;
}
