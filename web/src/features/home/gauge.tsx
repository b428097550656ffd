/** The flow of runs, at the foot of every page: how many a minute, and what waits. */

import "./gauge.css";
import { queryOptions, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { body, client, data } from "~/api/client";
import { tallyOf } from "~/shell/tally";
import { Bars } from "~/ui/bars";
import { count, plural } from "~/ui/format";

const MINUTE = 60_000;
const MINUTES = 24;
const ASK_MS = 15_000;

const flowQuery = queryOptions({
  queryKey: ["flow"],
  queryFn: async ({ signal }) => {
    const to = Math.ceil(Date.now() / MINUTE) * MINUTE;
    const [stats, queued] = await Promise.all([
      data(
        client.GET("/v1/stats/runs", {
          params: { query: { from: to - MINUTES * MINUTE, to, bucket_ms: MINUTE } },
          signal,
        }),
      ),
      body(
        client.GET("/v1/runs", {
          params: { query: { status: "queued", limit: 1, include: "id" } },
          signal,
        }),
      ),
    ]);
    return { perMinute: tallyOf(stats).perBucket, queued: queued.page_info.total_count };
  },
  refetchInterval: ASK_MS,
});

export function Gauge() {
  const { data: flow, isPending } = useQuery(flowQuery);
  if (flow === undefined) return <div className="gauge" aria-busy={isPending} />;
  // The minute that goes on says less than the last whole one.
  const last = flow.perMinute.at(-2) ?? 0;
  return (
    <Link to="/runs" search={{ view: "open" }} className="gauge num">
      <span className="gauge-row">
        Flow
        <span>
          <b>{count(last)}</b>/min
        </span>
      </span>
      <Bars
        values={flow.perMinute}
        width={184}
        height={20}
        lastIsNow
        label={`Runs in each of the last ${MINUTES} minutes`}
      />
      <span className="dim">
        {flow.queued === 0 ? "none queued" : `${plural(flow.queued, "run")} queued`}
      </span>
    </Link>
  );
}
