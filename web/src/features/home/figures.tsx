/** The figures above the chart, each a way to what it counts. */

import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { RunCounts } from "~/api/schema";
import { COUNTED_MAX } from "~/shell/counted";
import { cn } from "~/ui/cn";
import { count, duration, percent, rate } from "~/ui/format";
import { Glyph, type Status } from "~/ui/status";
import type { Range } from "./ranges";
import { type Waiting, waitingCount } from "./waiting";

export const shownCount = (total: number | undefined): string =>
  total === undefined ? "–" : total >= COUNTED_MAX ? `${count(COUNTED_MAX)}+` : count(total);

type Given = {
  range: Range;
  running: number | undefined;
  queued: number | undefined;
  paused: number | undefined;
  waiting: Waiting;
  total: RunCounts | undefined;
  before: RunCounts | undefined;
};

export function Figures({ range, running, queued, paused, waiting, total, before }: Given) {
  const ended = total === undefined ? undefined : total.succeeded + total.failed + total.cancelled;
  const minutes = range.span / 60_000;
  const was = before === undefined ? 0 : before.succeeded + before.failed + before.cancelled;
  const isBad = total !== undefined && total.failed > 0;
  const isWaiting = waiting.n > 0;
  return (
    <section className="figures" aria-label="Key figures">
      <Figure
        name="Running now"
        to="open"
        value={shownCount(running)}
        sub={
          queued === undefined ? "" : queued === 0 ? "none queued" : `${shownCount(queued)} queued`
        }
      />
      <Figure
        name="Ended"
        to="all"
        value={ended === undefined ? "–" : count(ended)}
        sub={ended === undefined ? "" : rate(ended / minutes)}
      />
      <Figure
        name="Failed"
        to="trouble"
        status={isBad ? "failed" : undefined}
        value={total === undefined ? "–" : count(total.failed)}
        sub={
          ended === undefined || total === undefined
            ? ""
            : ended === 0
              ? "no run ended"
              : `${percent(total.failed, ended)}${was === 0 || before === undefined ? "" : `, was ${percent(before.failed, was)}`}`
        }
      />
      <Figure
        name="Paused"
        to="trouble"
        status={isWaiting ? "paused" : undefined}
        value={shownCount(paused)}
        sub={
          paused === undefined
            ? ""
            : isWaiting
              ? waitingCount(waiting)
              : waiting.isMore
                ? "some may be waiting for a person"
                : "none is waiting for a person"
        }
      />
      <Figure
        name="Median duration"
        to="slow"
        value={typeof total?.p50_ms === "number" ? <Time ms={total.p50_ms} /> : "–"}
        sub={
          typeof total?.p95_ms === "number"
            ? `95th percentile ${duration(total.p95_ms)}`
            : total === undefined
              ? ""
              : "no run ended"
        }
      />
    </section>
  );
}

function Time({ ms }: { ms: number }) {
  const [value, ...unit] = duration(ms).split("\u202f");
  return (
    <>
      {value}
      <small> {unit.join(" ")}</small>
    </>
  );
}

function Figure({
  name,
  to,
  status,
  value,
  sub,
}: {
  name: string;
  to: "all" | "open" | "trouble" | "slow";
  status?: Status | undefined;
  value: ReactNode;
  sub: string;
}) {
  return (
    <Link
      to="/runs"
      search={to === "all" ? {} : { view: to }}
      className={cn("figure", status === "failed" && "is-alarm")}
    >
      <span className="figure-name small">
        {status !== undefined && <Glyph status={status} small />}
        {name}
      </span>
      <span className="figure-value num">{value}</span>
      <span className="figure-sub small dim cut">{sub}</span>
    </Link>
  );
}
