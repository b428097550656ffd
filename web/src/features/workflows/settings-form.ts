/** Fields of a workflow's settings as texts, and what one person changed of them. Pure. */

import { asJson, numberOf, objectOf } from "~/api/json";
import type { Texts, Typed } from "~/shell/typed-fields";

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
  { name: "error_notification", label: "Mail on errors" },
  { name: "keep_data", label: "Store events, results and logs of runs" },
] as const;

type Saved = { name: string; tags: readonly string[]; settings: object; note?: string | null };

/** A switch is `on` or `off`. */
export function formOf(record: Saved): Texts {
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
