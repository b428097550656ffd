/** What makes a source run, in words. */

import type { Source } from "~/api/schema";
import { every } from "~/ui/format";

export function triggerOf(source: Pick<Source, "interfaces">): string {
  const words = source.interfaces.map((each) => {
    if (each.type === "http") return "on requests";
    if (each.cron !== null) return `cron ${each.cron}, ${each.timezone}`;
    return each.interval_seconds === null ? "by a timer" : every(each.interval_seconds);
  });
  return words.length === 0 ? "when you run it" : words.join(", ");
}
