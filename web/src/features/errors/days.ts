/** Days of the bars of error groups: limits of each, and their counts in words. Pure. */

import { count, plural } from "~/ui/format";

export const DAYS = 14;

/** When the first of the days began: midnight here. */
export function firstDay(now: number): number {
  return midnight(now, DAYS - 1);
}

function midnight(at: number, daysBefore = 0): number {
  const day = new Date(at);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysBefore).getTime();
}

/** When the last of the days ends: the next midnight here. Each has 24 hours, also where clocks change. */
export function endOfDays(now: number): number {
  return midnight(now, -1);
}

/** The days that bars stand for, the oldest first: when each began. */
export function daysUntil(end: number): number[] {
  return Array.from({ length: DAYS }, (_, at) => end - (DAYS - at) * DAY_MS);
}

export const DAY_MS = 86_400_000;

/** What a row of bars stands for, in a sentence; null is a day that was not looked at. */
export function daysSentence(days: readonly (number | null)[]): string {
  const known = days.filter((day) => day !== null);
  const all = known.reduce((sum, day) => sum + day, 0);
  const span =
    known.length < days.length ? `the last ${known.length} of ${days.length}` : days.length;
  return `${plural(all, "error")} in ${span} days, ${count(known.at(-1) ?? 0)} of them today`;
}
