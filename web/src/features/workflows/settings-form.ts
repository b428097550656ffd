/** Fields of a workflow's settings as texts, and what one person changed of them. Pure. */

import { asJson, isObject, numberOf, objectOf, textOf } from "~/api/json";

type Limit = { name: string; label: string; hint: string; scale: number };

/** Limits that are numbers; an empty field is the default. */
export const LIMITS: readonly Limit[] = [
  { name: "timeout_ms", label: "Timeout of a run, seconds", hint: "Default: 30.", scale: 1_000 },
  { name: "memory_mb", label: "Memory, MiB", hint: "64 to 10,240. Default: 256.", scale: 1 },
  {
    name: "concurrency",
    label: "Concurrent runs",
    hint: "1 keeps runs in order. Default: no limit.",
    scale: 1,
  },
  {
    name: "queue_max",
    label: "Queued runs",
    hint: "Runs that wait behind concurrency or a throttle; further requests are rejected with 429. Default: 100,000, or --waiting-runs-max of the server.",
    scale: 1,
  },
  {
    name: "calls_per_isolate",
    label: "Calls per isolate",
    hint: "1 to 64. Default: 1. With more, concurrent runs share module variables, environment and /tmp.",
    scale: 1,
  },
];

export const SWITCHES = [
  { name: "auto_retry", label: "Retry failed steps" },
  { name: "error_notification", label: "Mail about errors" },
  { name: "keep_data", label: "Keep events, results and logs of runs" },
] as const;

/** Text of each field by its name; a switch is `on` or `off`. */
export type Form = Readonly<Record<string, string>>;

type Saved = { name: string; tags: readonly string[]; settings: object; note?: string | null };

export function formOf(record: Saved): Form {
  const settings = objectOf(record.settings);
  const form: Record<string, string> = {
    name: record.name,
    tags: record.tags.join(", "),
    note: record.note ?? "",
    auto_retry: settings.auto_retry === undefined ? "off" : "on",
    error_notification: settings.error_notification === false ? "off" : "on",
    keep_data: settings.keep_data === false ? "off" : "on",
  };
  for (const { name, scale } of LIMITS) {
    const value = numberOf(settings[name]);
    form[name] = value === undefined ? "" : String(value / scale);
  }
  return form;
}

/** What a person changed: the text that a field had, and the one it has now. */
export type Typed = Readonly<Record<string, { from: string; to: string }>>;

/** Changes with one more; a field that is as the server has it is not changed. */
export function typedWith(typed: Typed, saved: Form, name: string, to: string): Typed {
  const { [name]: was, ...others } = typed;
  const from = was?.from ?? saved[name] ?? "";
  return to === saved[name] ? others : { ...others, [name]: { from, to } };
}

export function typedFrom(kept: unknown): Typed {
  if (!isObject(kept)) return {};
  return Object.fromEntries(
    Object.entries(kept).flatMap(([name, value]) => {
      const [from, to] = isObject(value) ? [textOf(value.from), textOf(value.to)] : [];
      return from === undefined || to === undefined ? [] : [[name, { from, to }]];
    }),
  );
}

/** Fields that were changed here and, to another text, at the server since. */
export function conflictsOf(typed: Typed, saved: Form): string[] {
  return Object.entries(typed)
    .filter(([name, { from, to }]) => saved[name] !== from && saved[name] !== to)
    .map(([name]) => name);
}

/** Each once, as it was written first. */
export function tagsIn(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");
}

/** Body of the request that saves what was changed, and nothing else. */
export function settingsRequest(typed: Typed) {
  const settings: Record<string, unknown> = {};
  for (const { name, scale } of LIMITS) {
    const text = typed[name]?.to.trim();
    if (text !== undefined) settings[name] = text === "" ? false : Math.round(Number(text) * scale);
  }
  for (const { name } of SWITCHES) {
    const text = typed[name]?.to;
    if (text !== undefined) settings[name] = text === "on";
  }
  return {
    ...(typed.name === undefined ? {} : { name: typed.name.to.trim() }),
    ...(typed.note === undefined ? {} : { note: typed.note.to.trim() }),
    ...(typed.tags === undefined ? {} : { tags: tagsIn(typed.tags.to) }),
    ...(Object.keys(settings).length === 0 ? {} : { settings: asJson(settings) }),
  };
}

export function labelOf(name: string): string {
  const known = [...LIMITS, ...SWITCHES].find((each) => each.name === name)?.label;
  return known ?? name.charAt(0).toUpperCase() + name.slice(1);
}
