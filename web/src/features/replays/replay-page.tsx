/** Page of a replay of many runs: its progress, the result of each run, pause and resume. */

import "~/ui/table.css";
import "./replays.css";
import {
  type Query,
  useInfiniteQuery,
  useMutation,
  useQuery,
  useQueryClient,
} from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Check, CircleSlash, Pause, Play } from "lucide-react";
import { useEffect, useRef } from "react";
import { client, data } from "~/api/client";
import { setErrorState } from "~/api/error-groups";
import { sentence } from "~/api/errors";
import { statusOf } from "~/api/runs";
import type { ReplayWithRuns } from "~/api/schema";
import { isShort, useLive } from "~/api/stream";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { Banner, Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { count, duration, plural, shortId } from "~/ui/format";
import { Crumbs, Fact, PageHead, PaneHead } from "~/ui/pane";
import { StatusMark } from "~/ui/status";
import { When } from "~/ui/time";
import { Line } from "~/ui/worded";
import {
  groupQuery,
  isFinal,
  isOver,
  type Replayed,
  replayQuery,
  replayRunsQuery,
  replayWords,
} from "./queries";

/** The replay itself: its state says nothing about its runs, which have a topic of their own. */
const isRecord = ({ queryKey }: Query) => queryKey.length === 2;

export function ReplayPage({ id }: { id: string }) {
  useTitle("Replay");
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const { data: replay, error, refetch } = useQuery(replayQuery(id));
  const final = replay !== undefined && isFinal(replay);
  const runs = useInfiniteQuery(replayRunsQuery(id));
  useLive(final ? undefined : "replays", replayQuery(id).queryKey, isRecord);
  // Its runs go on after the last of them was queued, and the record counts them by status.
  useLive(final ? undefined : "runs", ["replay", id], isShort);
  const wasOpen = useRef(false);
  useEffect(() => {
    // Once more as all of them ended: the last answer may be of just before.
    if (final && wasOpen.current) {
      void queries.invalidateQueries({ queryKey: replayRunsQuery(id).queryKey });
    }
    wasOpen.current = replay !== undefined && !final;
  }, [final, replay, id, queries]);
  const change = useMutation({
    mutationFn: (act: "pause" | "resume" | "cancel") => {
      const params = { params: { path: { id } } };
      switch (act) {
        case "pause":
          return data(client.POST("/v1/replays/{id}/pause", params));
        case "resume":
          return data(client.POST("/v1/replays/{id}/resume", params));
        case "cancel":
          return data(client.POST("/v1/replays/{id}/cancel", params));
      }
    },
    onSuccess: (changed) => queries.setQueryData(replayQuery(id).queryKey, changed),
  });
  const over = replay === undefined || isOver(replay.status);
  return (
    <>
      <PageHead
        acts={
          <>
            <AsCommand
              commands={() => [
                { name: "Command line", text: line`millrace replays show ${id}` },
                { name: "curl", text: curlOf("GET", ["replays", id]) },
              ]}
            />
            {!over && (
              <>
                <Button
                  icon={replay.status === "paused" ? Play : Pause}
                  refused={refused}
                  onClick={() => change.mutate(replay.status === "paused" ? "resume" : "pause")}
                >
                  {replay.status === "paused" ? "Resume" : "Pause"}
                </Button>
                <Button
                  look="danger"
                  icon={CircleSlash}
                  refused={refused}
                  onClick={() => change.mutate("cancel")}
                >
                  Stop this replay
                </Button>
              </>
            )}
          </>
        }
      >
        <Crumbs>
          <Link to="/replays">Replays</Link>
          <h1>
            Replay <span className="mono">{shortId(id)}</span>
          </h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        {error !== null && replay === undefined && (
          <ReadFailed what="The replay" error={error} again={refetch} />
        )}
        {change.error !== null && (
          <div className="crash">
            <Banner kind="failed" role="alert" title="Nothing was changed">
              {sentence(change.error)}
            </Banner>
          </div>
        )}
        {replay === undefined ? (
          error === null && <SkeletonRows rows={4} />
        ) : (
          <>
            <section className="replay-sum" aria-label="Progress">
              <p>
                <b>{replayWords[replay.status] ?? replay.status}</b>{" "}
                <span className="mid num">
                  {count(replay.replayed)}
                  {replay.total !== null && ` of ${count(replay.total)}`}
                  {replay.skipped > 0 && `, ${count(replay.skipped)} skipped`}
                </span>
              </p>
              <Progress
                total={replay.total ?? replay.replayed}
                good={replay.runs.succeeded}
                bad={replay.runs.failed + replay.runs.cancelled}
              />
              {replay.note !== null && <p className="mid">{replay.note}</p>}
              {replay.selection.group !== undefined && isFinal(replay) && (
                <OfError group={replay.selection.group} replay={replay} />
              )}
              <dl className="facts">
                <Fact name="Succeeded">
                  <span className="num">{count(replay.runs.succeeded)}</span>
                </Fact>
                <Fact name="Failed">
                  <span className={replay.runs.failed > 0 ? "num failed-text" : "num"}>
                    {count(replay.runs.failed)}
                  </span>
                </Fact>
                <Fact name="In progress">
                  <span className="num">{count(replay.runs.unfinished)}</span>
                </Fact>
                <Fact name="Started">
                  <When at={replay.created_at * 1_000} />
                </Fact>
              </dl>
            </section>
            <PaneHead title="Runs" count={shownOf(runs, replay.replayed)} />
            <ListState
              query={runs}
              what="The runs"
              empty={
                <Empty
                  title={isOver(replay.status) ? "No runs were replayed." : "No runs replayed yet."}
                />
              }
            >
              {(items) => <Runs runs={items} />}
            </ListState>
          </>
        )}
      </div>
    </>
  );
}

/** "5,000", or "100 of 5,000" while the list has a part of them. */
function shownOf(
  { data: read, hasNextPage }: { data?: { pages: { data: unknown[] }[] }; hasNextPage: boolean },
  all: number,
): string {
  if (read === undefined) return "";
  const shown = read.pages.reduce((sum, page) => sum + page.data.length, 0);
  return hasNextPage ? `${count(shown)} of ${count(Math.max(all, shown))}` : count(shown);
}

function Runs({ runs }: { runs: readonly Replayed[] }) {
  return (
    <table className="tbl t-replayed" aria-label="Runs of the replay">
      <thead>
        <tr className="tr is-head">
          <th>Status</th>
          <th>Workflow or source</th>
          <th>Result</th>
          <th className="is-right">Duration</th>
          <th>Run</th>
          <th>Replays</th>
        </tr>
      </thead>
      <tbody>
        {runs.map((each) => (
          <Row key={each.run.run_id} of={each} />
        ))}
      </tbody>
    </table>
  );
}

function Row({ of: { run, row } }: { of: Replayed }) {
  return (
    <tr className="tr">
      <td>
        {run.status === null ? (
          <span className="dim">pruned</span>
        ) : (
          <StatusMark status={statusOf(run.status)} />
        )}
      </td>
      <td className="name cut">{row?.ownerName}</td>
      <td className="cut">
        {row?.error === undefined ? (
          row?.summary
        ) : (
          <>
            <span className="failed-text">{row.error.code}</span> <Line text={row.error.message} />
          </>
        )}
      </td>
      <td className="is-right num mid">
        {row?.finishedAt !== undefined && duration(row.finishedAt - row.acceptedAt)}
      </td>
      <td>
        <Link to="/runs/$id" params={{ id: run.run_id }} className="row-link mono">
          {shortId(run.run_id)}
        </Link>
      </td>
      <td className="above">
        <Link to="/runs/$id" params={{ id: run.original_id }} className="link mono">
          {shortId(run.original_id)}
        </Link>
      </td>
    </tr>
  );
}

/** What became of the error that the replayed runs had, once all of them ended. */
function OfError({ group: id, replay }: { group: string; replay: ReplayWithRuns }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const { data: group } = useQuery(groupQuery(id));
  const resolve = useMutation({
    mutationFn: () => setErrorState(id, "resolved"),
    onSuccess: (changed) => {
      queries.setQueryData(groupQuery(id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["error-groups"] });
    },
  });
  if (group === undefined || group.state === "ignored") return null;
  const name = (
    <Link to="/errors/$group" params={{ group: id }} className="link">
      {group.code}
      {group.step !== "" && ` at ${group.step}`}
    </Link>
  );
  if (group.state === "resolved") {
    return <p className="mid">{name} is resolved. It reopens if a run fails with it.</p>;
  }
  const { failed, succeeded } = replay.runs;
  if (failed > 0) {
    return (
      <Banner kind="waits" title={`${plural(failed, "run")} failed again`}>
        {name} stays open.
      </Banner>
    );
  }
  if (succeeded === 0) return null;
  return (
    <Banner
      title="The error is still open"
      act={
        <Button
          size="sm"
          icon={Check}
          refused={refused}
          busy={resolve.isPending && "Resolving…"}
          onClick={() => resolve.mutate()}
        >
          Resolve
        </Button>
      }
    >
      No replayed run failed with {name} again.{" "}
      {resolve.error !== null && <span role="alert">{sentence(resolve.error)}</span>}
    </Banner>
  );
}

function Progress({ total, good, bad }: { total: number; good: number; bad: number }) {
  const part = (n: number) => `${(100 * n) / Math.max(1, total)}%`;
  return (
    <div
      className="progress"
      role="img"
      aria-label={`${good} succeeded and ${bad} failed of ${total}`}
    >
      <span style={{ width: part(good) }} />
      <span className="is-bad" style={{ width: part(bad) }} />
    </div>
  );
}
