/** Result of a run in words, for lists. */

import type { RunRow } from "~/api/run-list";
import { plural } from "~/ui/format";
import { statusWord } from "~/ui/status";

/** What a run did, for a list that has its status beside it, where no step said it in its own words. */
export function happenedIn({ status, kind, isWorkflow, steps }: RunRow): string {
  if (kind === "hook") return "source hook";
  if (isWorkflow && steps.length > 0) return plural(steps.length, "step");
  return status === "succeeded" ? "ran" : statusWord[status].toLowerCase();
}
