/** Filter of a list of runs, read from the address: a view, and filters beside it. Pure. */

import type { RunKind } from "~/api/runs";
import type { Status } from "~/api/status";
import { isStatus } from "~/ui/status";
import { isRunView, type RunView, VIEWS } from "./views";

const HOUR = 3_600_000;
const MINUTE = 60_000;

/** How far back. */
export const AGES = {
  hour: { says: "last hour", ms: HOUR },
  day: { says: "last 24 h", ms: 24 * HOUR },
  week: { says: "last 7 days", ms: 7 * 24 * HOUR },
  month: { says: "last 30 days", ms: 30 * 24 * HOUR },
} as const;

export type Age = keyof typeof AGES;

/** At least how long. */
export const TOOK = {
  second: { says: "1 s or longer", ms: 1_000 },
  ten: { says: "10 s or longer", ms: 10_000 },
  minute: { says: "1 min or longer", ms: MINUTE },
} as const;

export type Took = keyof typeof TOOK;

export const KINDS = { live: "live", test: "tests", hook: "hooks" } as const;

export type Kind = keyof typeof KINDS;

/** From one time on, before another one, or both; epoch milliseconds. */
export type Between = { from?: number; to?: number };

export type RunFilter = {
  status?: readonly Status[];
  owner?: string;
  age?: Age;
  /** In the place of an age. */
  between?: Between;
  kind?: Kind;
  took?: Took;
  /** Class of an error, such as `TypeError`. */
  error?: string;
  /** The event that executions come from. */
  trace?: string;
};

export type FilterName = keyof RunFilter;

export const FILTER_NAMES: readonly FilterName[] = [
  "status",
  "owner",
  "age",
  "between",
  "kind",
  "took",
  "error",
  "trace",
];

const text = (given: unknown) => (typeof given === "string" && given !== "" ? given : undefined);

const isKey = <K extends string>(all: Readonly<Record<K, unknown>>, given: unknown): given is K =>
  typeof given === "string" && Object.hasOwn(all, given);

/** Of JavaScript, milliseconds. */
const LAST_DATE = 8.64e15;

/** A time as an address has it: epoch milliseconds, as the API takes them, or a date and a time. */
function timeIn(given: unknown): number | undefined {
  const at =
    typeof given === "number"
      ? given
      : /^\d+$/.test(text(given) ?? "")
        ? Number(given)
        : Date.parse(text(given) ?? "");
  return Number.isSafeInteger(at) && at >= 0 && at <= LAST_DATE ? at : undefined;
}

/** The filter that an address has; what it cannot have is left out. */
export function filterOf(given: Readonly<Record<string, unknown>>): RunFilter {
  const status = (text(given.status) ?? "").split(",").filter(isStatus);
  const [owner, error, trace] = [text(given.owner), text(given.error), text(given.trace)];
  const [from, to] = [timeIn(given.from), timeIn(given.to)];
  const between = {
    ...(from === undefined ? {} : { from }),
    ...(to === undefined ? {} : { to }),
  };
  const hasBetween = from !== undefined || to !== undefined;
  return {
    ...(status.length === 0 ? {} : { status }),
    ...(owner === undefined ? {} : { owner }),
    ...(isKey(AGES, given.age) && !hasBetween ? { age: given.age } : {}),
    ...(hasBetween ? { between } : {}),
    ...(isKey(KINDS, given.kind) ? { kind: given.kind } : {}),
    ...(isKey(TOOK, given.took) ? { took: given.took } : {}),
    ...(error === undefined ? {} : { error }),
    ...(trace === undefined ? {} : { trace }),
  };
}

/** A list of runs as an address has it. */
export type RunSearch = { view?: RunView; q?: string; from?: string; to?: string } & Omit<
  RunFilter,
  "status" | "between"
> & { status?: string };

export type RunList = { view: RunView; q: string; filter: RunFilter };

/** What is listed, by an address; `all`: what it says, known or not. */
export function listOfSearch(all: Readonly<Record<string, unknown>>): RunList {
  const { view, q } = all;
  return {
    view: typeof view === "string" && isRunView(view) ? view : "all",
    q: q === undefined ? "" : String(q),
    filter: filterOf(all),
  };
}

/** The address of a list: times so that a person can read them. */
export function searchOf({ view, q, filter }: RunList): RunSearch {
  const { status, between, ...others } = filter;
  const [from, to] = [between?.from, between?.to];
  return {
    ...(view === "all" ? {} : { view }),
    ...(q === "" ? {} : { q }),
    ...others,
    ...(status === undefined ? {} : { status: status.join(",") }),
    ...(from === undefined ? {} : { from: new Date(from).toISOString() }),
    ...(to === undefined ? {} : { to: new Date(to).toISOString() }),
  };
}

/** The address of a list of one workflow or source: its filter names no other owner. */
export type OwnerSearch = Omit<RunSearch, "owner">;

export function ownerSearchOf(given: Readonly<Record<string, unknown>>): OwnerSearch {
  const { owner: _, ...search } = searchOf(listOfSearch(given));
  return search;
}

export type Query = {
  status?: string;
  owner_id?: string;
  group?: string;
  from?: number;
  to?: number;
  kind?: RunKind;
  min_ms?: number;
  error_class?: string;
  trace_id?: string;
  /** With all of these words. */
  q?: string;
};

/** What the API is asked; a filter goes before what the view says of the same. */
export function queryOf(view: RunView, filter: RunFilter, q: string, now: number): Query {
  const { status, owner, age, between, kind, took, error, trace } = filter;
  return {
    ...VIEWS[view].query,
    ...(status === undefined ? {} : { status: status.join(",") }),
    ...(owner === undefined ? {} : { owner_id: owner }),
    // Whole minutes: what is asked again is the same question.
    ...(age === undefined ? {} : { from: Math.floor((now - AGES[age].ms) / MINUTE) * MINUTE }),
    ...between,
    ...(kind === undefined ? {} : { kind }),
    ...(took === undefined ? {} : { min_ms: TOOK[took].ms }),
    ...(error === undefined ? {} : { error_class: error }),
    ...(trace === undefined ? {} : { trace_id: trace }),
    ...(q === "" ? {} : { q }),
  };
}

const ENDED: readonly Status[] = ["succeeded", "failed", "cancelled"];
const WAITS: readonly Status[] = ["queued", "paused"];

/** The part of a filter that can be replayed, or cancelled, together; `undefined`: none of it. */
export function actsOn(query: Query, act: "replay" | "cancel"): Query | undefined {
  if (act === "replay" && query.kind !== undefined && query.kind !== "live") return undefined;
  const able = act === "replay" ? ENDED : WAITS;
  const { status, ...others } = query;
  if (status === undefined) return others;
  const fits = status.split(",").filter((each) => able.some((one) => one === each));
  return fits.length === 0 ? undefined : { ...others, status: fits.join(",") };
}
