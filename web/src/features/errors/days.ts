/** How often something happened on each of the last days; pure. */

export const DAYS = 14;
const DAY_MS = 86_400_000;

/** When the first of the days began: midnight here. */
export function firstDay(now: number): number {
  return midnight(now, DAYS - 1);
}

function midnight(at: number, daysBefore = 0): number {
  const day = new Date(at);
  return new Date(day.getFullYear(), day.getMonth(), day.getDate() - daysBefore).getTime();
}

/** Counts for each day, the oldest first. */
export function perDay(at: readonly number[], now: number): number[] {
  const first = firstDay(now);
  const counts = Array.from({ length: DAYS }, () => 0);
  for (const each of at) {
    // Where clocks change, a day has 23 or 25 hours.
    const day = Math.round((midnight(each) - first) / DAY_MS);
    if (day >= 0 && day < DAYS) counts[day] = (counts[day] ?? 0) + 1;
  }
  return counts;
}
