/** Replays of many runs, the newest first. */

import "~/ui/table.css";
import "./replays.css";
import { useInfiniteQuery, useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { body, client } from "~/api/client";
import { ownersQuery, pagesOf } from "~/api/queries";
import { useLive } from "~/api/stream";
import { ListState } from "~/shell/list-state";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { count, shortId } from "~/ui/format";
import { Crumbs, PageHead } from "~/ui/pane";
import { Glyph, type Shape } from "~/ui/status";
import { When } from "~/ui/time";
import { replayWords } from "./queries";

const replaysQuery = pagesOf(["replays"], (query, signal) =>
  body(client.GET("/v1/replays", { params: { query }, signal })),
);

const shapes: Record<string, Shape> = {
  queued: "queued",
  running: "running",
  paused: "paused",
  done: "succeeded",
  failed: "failed",
  cancelled: "cancelled",
};

export function ReplayList() {
  useTitle("Replays");
  const replays = useInfiniteQuery(replaysQuery);
  useLive("replays", replaysQuery.queryKey);
  const { data: owners } = useQuery(ownersQuery);
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/runs">Runs</Link>
          <h1>Replays</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <ListState
          query={replays}
          what="The replays"
          empty={
            <Empty title="No bulk replays yet.">
              <p>
                Select several runs in the list of runs, or open an error and replay all its runs.
                Progress and results are listed here.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-replays" aria-label="Replays">
              <thead>
                <tr className="tr is-head">
                  <th>State</th>
                  <th>Runs of</th>
                  <th className="is-right">Replayed</th>
                  <th className="is-right">Skipped</th>
                  <th className="is-right">Started</th>
                </tr>
              </thead>
              <tbody>
                {items.map((replay) => {
                  const owner = replay.workflow_id ?? replay.source_id;
                  return (
                    <tr className="tr" key={replay.id}>
                      <td>
                        <span className="status">
                          <Glyph status={shapes[replay.status] ?? "queued"} />
                          {replayWords[replay.status] ?? replay.status}
                        </span>
                      </td>
                      <td className="cut">
                        <Link
                          to="/replays/$id"
                          params={{ id: replay.id }}
                          className="row-link name"
                        >
                          {owner === null ? "several owners" : (owners?.get(owner)?.name ?? owner)}
                        </Link>{" "}
                        <span className="mono dim small">{shortId(replay.id)}</span>
                      </td>
                      <td className="is-right num">
                        {count(replay.replayed)}
                        {replay.total !== null && (
                          <span className="dim"> of {count(replay.total)}</span>
                        )}
                      </td>
                      <td className="is-right num dim">
                        {replay.skipped === 0 ? "" : count(replay.skipped)}
                      </td>
                      <td className="is-right dim above">
                        <When at={replay.created_at * 1_000} />
                      </td>
                    </tr>
                  );
                })}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
    </>
  );
}
