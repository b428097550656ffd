/** Runs of a workflow or source that ended in a day: how many, how many of them failed, and when. */

import "./runs-of-day.css";
import type { RunStats } from "~/api/schema";
import { Bars } from "~/ui/bars";
import { percent, plural, count as said } from "~/ui/format";
import { tallyOf } from "./tally";

export function RunsOfDay({ stats, name }: { stats: RunStats | undefined; name: string }) {
  if (stats === undefined) return null;
  const { all, failed, perBucket, failedPerBucket } = tallyOf(stats);
  if (all === 0)
    return (
      <span className="dim">
        none<span className="only-narrow">&nbsp;in 24 h</span>
      </span>
    );
  const share = percent(failed, all);
  return (
    <span className="runs-of-day num">
      <Bars
        values={perBucket}
        bad={failedPerBucket}
        width={96}
        height={16}
        label={`${name}: ${plural(all, "run")} in 24 hours, ${failed === 0 ? "none failed" : `${share} failed`}`}
      />
      <span>
        {said(all)}
        <span className="only-narrow">&nbsp;{all === 1 ? "run" : "runs"} in 24 h</span>{" "}
        {failed > 0 && <span className="failed-text">{share} failed</span>}
      </span>
    </span>
  );
}
