/** Times as fields of dates and times hold them, in the zone that all times are shown in. Pure. */

import type { Zone } from "~/ui/format";

const two = (n: number) => String(n).padStart(2, "0");

/** `2026-11-25T14:02`, or nothing where there is no time. */
export function typedOf(at: number | undefined, zone: Zone): string {
  if (at === undefined) return "";
  if (zone === "utc") return new Date(at).toISOString().slice(0, 16);
  const time = new Date(at);
  const date = `${time.getFullYear()}-${two(time.getMonth() + 1)}-${two(time.getDate())}`;
  return `${date}T${two(time.getHours())}:${two(time.getMinutes())}`;
}

/** The time that was typed, epoch milliseconds. */
export function timeOf(typed: string, zone: Zone): number | undefined {
  if (typed === "") return undefined;
  const at = Date.parse(zone === "utc" ? `${typed}Z` : typed);
  return Number.isNaN(at) ? undefined : at;
}
