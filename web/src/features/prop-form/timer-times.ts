/**
 * Parts of a schedule's instants that have to be shown: year and seconds only where they differ.
 * Pure.
 */

/** Whether times differ by their year, and by their seconds. */
export function partsOf(times: readonly number[], zone: string, now = Date.now()) {
  const year = new Intl.DateTimeFormat("en-GB", { year: "numeric", timeZone: zone });
  return {
    showsYear: times.some((at) => year.format(at) !== year.format(now)),
    showsSeconds: times.some((at) => at % 60_000 !== 0),
  };
}
