/** Triggers of a source, in words. */

import type { Source } from "~/api/schema";
import type { Start } from "~/shell/starts";
import { every } from "~/ui/format";

export function startsOf(source: Pick<Source, "interfaces">): Start[] {
  return source.interfaces.map((each) => {
    if (each.type === "http") return "on requests";
    if (each.cron !== null) return { cron: each.cron, zone: each.timezone };
    return each.interval_seconds === null ? "by a timer" : every(each.interval_seconds);
  });
}
