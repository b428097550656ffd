/** Numbers, durations, sizes and times as text. Times are in the zone that `showIn` chose for the whole page. */

/** Narrow no-break space between a figure and its unit. */
const GAP = "\u202f";

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;

const integers = new Intl.NumberFormat("en");
const oneDigit = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });
const percents = new Intl.NumberFormat("en", { maximumFractionDigits: 1 });

export function count(value: number): string {
  return integers.format(value);
}

/** `1 run`, `2 runs`. */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

export function percent(part: number, whole: number): string {
  return `${percents.format(whole === 0 ? 0 : (100 * part) / whole)}${GAP}%`;
}

/** `84 ms`, `2.24 s`, `4 m 12 s`, `5 h`, `3 d`. */
export function duration(ms: number): string {
  if (ms < SECOND) return `${Math.max(0, Math.round(ms))}${GAP}ms`;
  if (ms < 10 * SECOND) return `${(ms / SECOND).toFixed(2)}${GAP}s`;
  if (ms < MINUTE) return `${(ms / SECOND).toFixed(1)}${GAP}s`;
  if (ms < HOUR) return two(ms, MINUTE, "m", SECOND, "s");
  if (ms < DAY) return two(ms, HOUR, "h", MINUTE, "m");
  return two(ms, DAY, "d", HOUR, "h");
}

function two(ms: number, large: number, unit: string, small: number, part: string): string {
  const whole = Math.floor(ms / large);
  const rest = Math.floor((ms % large) / small);
  const head = `${whole}${GAP}${unit}`;
  return rest === 0 ? head : `${head} ${rest}${GAP}${part}`;
}

const UNITS = [
  ["day", 86_400],
  ["hour", 3_600],
  ["minute", 60],
  ["second", 1],
] as const;

/** An interval of a timer: `every minute`, `every 15 minutes`, `every 90 seconds`. */
export function every(seconds: number): string {
  const [unit, size] =
    UNITS.find(([, size]) => seconds >= size && seconds % size === 0) ?? UNITS[3];
  const times = seconds / size;
  return times === 1 ? `every ${unit}` : `every ${plural(times, unit)}`;
}

export function bytes(value: number): string {
  if (value < 1_024) return `${value}${GAP}B`;
  const units = ["KB", "MB", "GB", "TB"];
  let size = value / 1_024;
  let unit = 0;
  while (size >= 1_024 && unit < units.length - 1) {
    size /= 1_024;
    unit += 1;
  }
  return `${oneDigit.format(size)}${GAP}${units[unit]}`;
}

export type Zone = "local" | "utc";

let shownIn: Zone = "local";

/** Chooses the zone of all times that are written from now on. */
export function showIn(zone: Zone): void {
  shownIn = zone;
}

/** The zone that times are shown in now. */
export function shownZone(): Zone {
  return shownIn;
}

/** How long ago, below a day; else the day. */
export function ago(at: number, now: number): string {
  const past = now - at;
  if (past < 0) return `in ${coarse(-past)}`;
  if (past < 5 * SECOND) return "just now";
  if (past < DAY) return `${coarse(past)} ago`;
  return day(at, now);
}

/** One unit: `42 s`, `3 min`, `5 h`, `2 d`. */
export function coarse(ms: number): string {
  if (ms < MINUTE) return `${Math.round(ms / SECOND)}${GAP}s`;
  if (ms < HOUR) return `${Math.round(ms / MINUTE)}${GAP}min`;
  if (ms < DAY) return `${Math.round(ms / HOUR)}${GAP}h`;
  return `${Math.round(ms / DAY)}${GAP}d`;
}

export function day(at: number, now: number, zone: Zone = shownIn): string {
  const sameYear = years[zone].format(at) === years[zone].format(now);
  return (sameYear ? days : dates)[zone].format(at);
}

/** `25 Nov 2026` */
export function date(at: number, zone: Zone = shownIn): string {
  return dates[zone].format(at);
}

function parts(zone: Zone, more: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat("en-GB", {
    hourCycle: "h23",
    ...(zone === "utc" ? { timeZone: "UTC" } : {}),
    ...more,
  });
}

const clocks = {
  local: parts("local", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
  utc: parts("utc", { hour: "2-digit", minute: "2-digit", second: "2-digit" }),
};
const minutes = {
  local: parts("local", { hour: "2-digit", minute: "2-digit" }),
  utc: parts("utc", { hour: "2-digit", minute: "2-digit" }),
};
const days = {
  local: parts("local", { day: "numeric", month: "short" }),
  utc: parts("utc", { day: "numeric", month: "short" }),
};
const years = {
  local: parts("local", { year: "numeric" }),
  utc: parts("utc", { year: "numeric" }),
};
const dates = {
  local: parts("local", { day: "numeric", month: "short", year: "numeric" }),
  utc: parts("utc", { day: "numeric", month: "short", year: "numeric" }),
};

/** Of a time among values that are written otherwise: "here", or "UTC". */
export function zoneWord(): string {
  return shownIn === "utc" ? "UTC" : "here";
}

/** `14:02:31.118` */
export function clock(at: number, zone: Zone = shownIn): string {
  return `${clocks[zone].format(at)}.${String(Math.floor(at % SECOND)).padStart(3, "0")}`;
}

/** `14:02` */
export function minute(at: number, zone: Zone = shownIn): string {
  return minutes[zone].format(at);
}

/** `25 Nov 2026, 14:02` */
export function dateAndMinute(at: number, zone: Zone = shownIn): string {
  return `${dates[zone].format(at)}, ${minutes[zone].format(at)}`;
}

/** Resolving it takes a millisecond, and a list has many times. */
const here = new Intl.DateTimeFormat().resolvedOptions().timeZone;

/** `25 Nov 2026, 14:02:31.118 Europe/Berlin` */
export function exact(at: number, zone: Zone = shownIn): string {
  const name = zone === "utc" ? "UTC" : here;
  return `${dates[zone].format(at)}, ${clock(at, zone)} ${name}`;
}

/** Today the minute, else the day: for lists of what changed. */
export function minuteOrDay(at: number, now: number): string {
  return now - at < DAY ? minute(at) : day(at, now);
}

/** Cuts an id in its middle: `run_8kQ2…1T`. */
export function shortId(id: string): string {
  const underscore = id.indexOf("_");
  const head = Math.max(underscore, 0) + 5;
  return id.length <= head + 4 ? id : `${id.slice(0, head)}…${id.slice(-2)}`;
}

/** `38 a minute`, `3 an hour`: the unit in which it is one or more. */
export function rate(perMinute: number): string {
  if (perMinute >= 1) return `${count(Math.round(perMinute))} a minute`;
  const perHour = perMinute * 60;
  if (perHour >= 1) return `${count(Math.round(perHour))} an hour`;
  const perDay = Math.round(perHour * 24);
  return perDay === 0 ? "no runs" : `${plural(perDay, "run")} a day`;
}
