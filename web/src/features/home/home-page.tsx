/** What goes on now, what fails, what waits, and what ran lately. */

import "./home.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import { sentence } from "~/api/errors";
import { type Owner, ownersQuery } from "~/api/queries";
import type { RunRow } from "~/api/run-list";
import type { ErrorGroup } from "~/api/schema";
import { useLiveRuns } from "~/api/stream";
import { useTitle } from "~/shell/title";
import { Banner, Empty, SkeletonRows } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { count, duration } from "~/ui/format";
import { PageHead, PaneHead } from "~/ui/pane";
import { Glyph, type Status } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Until, useNow, When } from "~/ui/time";
import { newestGroups, newestRuns } from "./queries";

const HOUR_MS = 3_600_000;
/** The hour moves in steps, so that a question is asked again and not anew. */
const STEP_MS = 60_000;
/** As far as the server counts. */
const COUNTED_MAX = 1_000;

export function HomePage() {
  useTitle("Home");
  useLiveRuns();
  const now = useNow();
  const hour = { from: Math.floor(now / STEP_MS) * STEP_MS - HOUR_MS };
  const running = useQuery(newestRuns({ status: "running" }, 6));
  const queued = useQuery(newestRuns({ status: "queued" }, 1));
  const paused = useQuery(newestRuns({ status: "paused" }, 5));
  const ended = useQuery({
    ...newestRuns({ status: "succeeded", ...hour }, 1),
    placeholderData: (before) => before,
  });
  const failed = useQuery({
    ...newestRuns({ status: "failed", ...hour }, 1),
    placeholderData: (before) => before,
  });
  const lately = useQuery(newestRuns({}, 12));
  const groups = useQuery(newestGroups);
  const { data: owners } = useQuery(ownersQuery);
  const problem = lately.error ?? groups.error;
  return (
    <>
      <PageHead
        acts={
          <>
            <Link to="/sources/new" className={buttonClass({})}>
              New source
            </Link>
            <Link to="/workflows/new" className={buttonClass({})}>
              New workflow
            </Link>
          </>
        }
      >
        <h1>Home</h1>
      </PageHead>
      <div className="scroll">
        {problem !== null && (
          <div className="crash">
            <Banner kind="failed" role="alert" title="What runs could not be read">
              {sentence(problem)}
            </Banner>
          </div>
        )}
        <dl className="figures">
          <Figure name="Running now" status="running" total={running.data?.total} />
          <Figure name="Queued" status="queued" total={queued.data?.total} />
          <Figure name="Succeeded" about="last hour" status="succeeded" total={ended.data?.total} />
          <Figure name="Failed" about="last hour" status="failed" total={failed.data?.total} />
          <Figure name="Paused" status="paused" total={paused.data?.total} />
        </dl>
        <div className="home-cols">
          <section aria-labelledby="home-lately">
            {running.data !== undefined && running.data.rows.length > 0 && (
              <>
                <PaneHead title="Running now" count={running.data.total} />
                <Lines runs={running.data.rows} now={now} label="Running now" />
              </>
            )}
            <PaneHead id="home-lately" title="Ran lately">
              <Link to="/runs" className="link small">
                All runs
              </Link>
            </PaneHead>
            {lately.isPending ? (
              <SkeletonRows rows={6} />
            ) : lately.data?.rows.length === 0 ? (
              <Empty title="Nothing ran yet.">
                <Link to="/workflows/new" className={buttonClass({ look: "primary" })}>
                  Make a workflow
                </Link>
                <Link to="/sources/new" className={buttonClass({})}>
                  Deploy a source
                </Link>
              </Empty>
            ) : (
              <Lines runs={lately.data?.rows ?? []} now={now} label="Ran lately" />
            )}
          </section>
          <aside aria-label="What needs attention">
            <PaneHead title="Failing">
              <Link to="/errors" className="link small">
                All errors
              </Link>
            </PaneHead>
            <ul className="home-list">
              {groups.data?.data.map((group) => (
                <Group key={group.id} group={group} owners={owners} />
              ))}
            </ul>
            {groups.data?.data.length === 0 && <p className="home-none dim">No run has failed.</p>}
            <PaneHead title="Paused" count={paused.data?.total} />
            <ul className="home-list">
              {paused.data?.rows.map((run) => (
                <Waiting key={run.id} run={run} />
              ))}
            </ul>
            {paused.data?.rows.length === 0 && <p className="home-none dim">No run is paused.</p>}
          </aside>
        </div>
      </div>
    </>
  );
}

function Figure({
  name,
  about,
  status,
  total,
}: {
  name: string;
  about?: string;
  status: Status;
  total: number | undefined;
}) {
  const shown =
    total === undefined ? "–" : total >= COUNTED_MAX ? `${count(COUNTED_MAX)}+` : count(total);
  return (
    <div>
      <dt className="row">
        <Glyph status={status} small />
        {name}
        {about !== undefined && <span className="dim small">{about}</span>}
      </dt>
      <dd
        className={
          status === "failed" && total !== undefined && total > 0 ? "failed-text" : undefined
        }
      >
        {shown}
      </dd>
    </div>
  );
}

function Lines({ runs, now, label }: { runs: readonly RunRow[]; now: number; label: string }) {
  return (
    <ul className="home-list" aria-label={label}>
      {runs.map((run) => (
        <li key={run.id} className="home-run">
          <Glyph status={run.status} />
          <Tile name={run.ownerName} />
          <span className="name cut">{run.ownerName}</span>
          <Link to="/runs/$id" params={{ id: run.id }} className="row-link cut">
            <What run={run} />
          </Link>
          <span className="num dim">
            {duration((run.finishedAt ?? Math.max(now, run.acceptedAt)) - run.acceptedAt)}
          </span>
          <span className="dim above home-when">
            <When at={run.acceptedAt} />
          </span>
        </li>
      ))}
    </ul>
  );
}

function What({ run }: { run: RunRow }): ReactNode {
  if (run.error !== undefined) {
    return (
      <>
        <span className="failed-text">{run.error.code}</span> {run.error.message}
      </>
    );
  }
  return (
    run.summary ?? (
      <span className="mid">
        {run.kind === "test" ? "test, " : ""}
        {run.status}
      </span>
    )
  );
}

function Group({ group, owners }: { group: ErrorGroup; owners: Map<string, Owner> | undefined }) {
  const id = group.workflow_id ?? group.source_id ?? "";
  return (
    <li className="home-item">
      <Link to="/errors" search={{ group: group.id }} className="row-link cut">
        <span className="failed-text">{group.code}</span> {group.message}
      </Link>
      <span className="num end">{count(group.count)}</span>
      <span className="dim small cut home-under">
        {owners?.get(id)?.name ?? id}
        {group.step !== "" && ` · ${group.step}`} · last <When at={group.last_seen_ms} />
      </span>
    </li>
  );
}

function Waiting({ run }: { run: RunRow }) {
  return (
    <li className="home-item">
      <Link to="/runs/$id" params={{ id: run.id }} className="row-link cut">
        {run.summary ?? `Waits in ${run.paused?.step ?? "a step"}`}
      </Link>
      <span className="dim small cut home-under">
        {run.ownerName}
        {run.paused?.until !== undefined && (
          <>
            {" "}
            · until <Until at={run.paused.until} />
          </>
        )}
      </span>
    </li>
  );
}
