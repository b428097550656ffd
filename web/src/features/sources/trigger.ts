/** What makes a source run, in words. */

import { isObject, numberOf, textOf } from "~/api/json";
import type { Source } from "~/api/schema";
import { every } from "~/ui/format";

export function triggerOf(source: Pick<Source, "interfaces">): string {
  const words = source.interfaces.flatMap((each) => {
    if (!isObject(each)) return [];
    switch (each.type) {
      case "timer": {
        const cron = textOf(each.cron);
        const seconds = numberOf(each.interval_seconds);
        if (cron !== undefined) return `cron ${cron}, ${textOf(each.timezone) ?? "UTC"}`;
        return seconds === undefined ? "by a timer" : every(seconds);
      }
      case "http":
        return "on requests";
      case "apphook":
        return "on events of its app";
      default:
        return textOf(each.type) ?? [];
    }
  });
  return words.length === 0 ? "when you run it" : words.join(", ");
}
