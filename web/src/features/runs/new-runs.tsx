/** Runs that wait above a list that is held: how many, and how many of them a person has to look at. */

import type { RunRow } from "~/api/run-list";
import { countOf, NewBar } from "~/shell/new-bar";
import { cn } from "~/ui/cn";

const NAMED = ["failed", "paused"] as const;

export function NewRuns({
  runs,
  isAtLeast,
  onShow,
}: {
  runs: readonly RunRow[];
  isAtLeast: boolean;
  onShow: () => void;
}) {
  return (
    <NewBar fresh={runs.length} isAtLeast={isAtLeast} onShow={onShow}>
      {NAMED.map((name) => {
        const n = runs.filter(({ status }) => status === name).length;
        return (
          n > 0 && (
            <span key={name} className={cn(name === "failed" ? "failed-text" : "mid")}>
              , {name} {countOf(n, isAtLeast)}
            </span>
          )
        );
      })}
    </NewBar>
  );
}
