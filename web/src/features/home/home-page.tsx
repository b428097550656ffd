/**
 * Home: state of the platform, errors and pauses that need a person, running, due and changed
 * things.
 */

import "./home.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ListTree, Map as MapIcon, Radio } from "lucide-react";
import { type ReactNode, useState } from "react";
import { actorsQuery, type Owner, ownersQuery } from "~/api/queries";
import type { RunRow } from "~/api/run-list";
import type { ErrorGroup } from "~/api/schema";
import { useLiveRuns } from "~/api/stream";
import { isChange, isDeploy } from "~/shell/act";
import { ActLink } from "~/shell/act-link";
import { happenedIn } from "~/shell/happened";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { SkeletonRows } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { count, duration } from "~/ui/format";
import { PageHead, PaneHead, Segments } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Until, useNow, When } from "~/ui/time";
import { Line } from "~/ui/worded";
import { type Changeable, Changed } from "./changed";
import { Chart } from "./chart";
import { Figures } from "./figures";
import { type Example, FirstVisit, type Received } from "./first-visit";
import { NextList, timersOf } from "./next-list";
import { changesQuery, newestGroups, newestRuns, partsQuery, statsQuery } from "./queries";
import { RANGES, type RangeName, rangeOf } from "./ranges";
import { standingStill } from "./standing";
import { StillList } from "./still-list";
import { Verdict } from "./verdict";

export function HomePage({
  range: rangeName,
  examples,
  onRange,
}: {
  range: RangeName;
  /** Sources that need no account, for the first visit. */
  examples: readonly Example[];
  onRange: (range: RangeName) => void;
}) {
  useTitle("Home");
  useLiveRuns();
  const range = rangeOf(rangeName);
  const now = useNow();
  const isOwner = useRefusal("full") === undefined;
  const running = useQuery(newestRuns({ status: "running" }, 6));
  const queued = useQuery(newestRuns({ status: "queued" }, 1));
  const paused = useQuery(newestRuns({ status: "paused" }, 100));
  const lately = useQuery(newestRuns({}, 10));
  const groups = useQuery(newestGroups);
  const stats = useQuery(statsQuery(range));
  const parts = useQuery(partsQuery);
  const changes = useQuery({ ...changesQuery, enabled: isOwner });
  const actors = useQuery({ ...actorsQuery, enabled: isOwner });
  const owned = useQuery(ownersQuery);
  const [received, setReceived] = useState<Received>();

  const problem = lately.error ?? stats.error ?? parts.error ?? groups.error;
  const again = () => {
    for (const each of [running, queued, paused, lately, groups, stats, parts]) void each.refetch();
  };
  const nothing =
    parts.data !== undefined &&
    lately.data !== undefined &&
    parts.data.sources.length + parts.data.workflows.length + lately.data.rows.length === 0;
  if (nothing || received !== undefined) {
    return <FirstVisit received={received} examples={examples} onReceived={setReceived} />;
  }

  const waiting = paused.data?.rows.filter(isForPerson) ?? [];
  // Paused runs beyond those that were read may wait too.
  const isMoreWaiting = (paused.data?.total ?? 0) > (paused.data?.rows.length ?? 0);
  const still = parts.data === undefined ? [] : standingStill(parts.data);
  const timers = parts.data === undefined ? [] : timersOf(parts.data);
  const dueRuns = paused.data?.rows.filter(({ paused }) => paused?.until !== undefined) ?? [];
  const failing =
    groups.data?.data.filter(({ last_seen_ms }) => last_seen_ms >= now - range.span) ?? [];
  const older = groups.data?.data.filter((group) => !failing.includes(group)) ?? [];
  // The groups that were read all failed lately: there may be more such.
  const isMoreFailing =
    failing.length > 0 &&
    older.length === 0 &&
    (groups.data?.page_info.total_count ?? 0) > failing.length;
  const changed = changes.data?.filter(({ action }) => isChange(action)) ?? [];
  const names = namesOf(owned.data, parts.data);
  const flags = changed
    .filter(({ action }) => isDeploy(action))
    .map(({ id, target, created_at_ms }) => ({
      id,
      at: created_at_ms,
      name: names.get(target ?? "")?.name ?? "Deployed",
    }));
  const isRead = problem === null && parts.isSuccess && groups.isSuccess && paused.isSuccess;
  // Lists stand below each other: none is shown before all are known.
  const asked = [running, paused, lately, groups, parts, owned, changes, actors];
  const comes = asked.some(({ isLoading }) => isLoading);
  const isBare = problem !== null && asked.every(({ data }) => data === undefined);
  return (
    <>
      <PageHead
        acts={
          <>
            <Segments
              label="Time"
              value={range.name}
              onChange={onRange}
              choices={RANGES.map(({ name, label }) => [name, label] as const)}
            />
            <Link to="/map" className={`${buttonClass({ look: "quiet" })} only-wide`}>
              <MapIcon className="icon" aria-hidden="true" />
              Map
            </Link>
            <ActLink to="/sources/new" needs="deploy" icon={Radio}>
              <span className="only-wide" aria-hidden="true">
                New source
              </span>
              <span className="sr">New source</span>
            </ActLink>
            <ActLink to="/workflows/new" needs="deploy" icon={ListTree}>
              <span className="only-wide" aria-hidden="true">
                New workflow
              </span>
              <span className="sr">New workflow</span>
            </ActLink>
          </>
        }
      >
        <h1>Home</h1>
      </PageHead>
      <div className="scroll home">
        {problem !== null && <ReadFailed what="Home" error={problem} again={again} />}
        {isRead ? (
          <Verdict
            failing={failing.length}
            isMore={isMoreFailing}
            faults={still.filter(({ isFault }) => isFault).length}
            waiting={{ n: waiting.length, isMore: isMoreWaiting }}
            says={range.says}
          />
        ) : (
          problem === null && <div className="verdict" aria-busy="true" />
        )}
        {!isBare && (
          <Figures
            range={range}
            running={running.data?.total}
            queued={queued.data?.total}
            paused={paused.data?.total}
            waiting={{ n: waiting.length, isMore: isMoreWaiting }}
            total={stats.data?.now.total}
            before={stats.data?.before}
          />
        )}
        {stats.data === undefined ? (
          stats.isPending && <div className="chart-space" aria-busy="true" />
        ) : (
          <Chart stats={stats.data.now} range={range} flags={flags} />
        )}
        {comes && (
          <div className="home-cols">
            <SkeletonRows rows={8} height={33} />
            <SkeletonRows rows={5} height={53} />
          </div>
        )}
        {!comes && !isBare && (
          <div className="home-cols">
            <div className="in-order">
              {running.data !== undefined && running.data.rows.length > 0 && (
                <>
                  <PaneHead title="Running now" count={running.data.total} />
                  <Lines runs={running.data.rows} now={now} label="Running now" />
                </>
              )}
              {still.length > 0 && (
                <>
                  <PaneHead
                    id="home-still"
                    title="Inactive or blocked"
                    count={count(still.length)}
                    hint="Switched off, rejected or waiting to retry"
                  />
                  <StillList still={still} />
                </>
              )}
              {timers.length + dueRuns.length > 0 && (
                <>
                  <PaneHead id="home-next" title="Next" hint="Upcoming timers and resumes" />
                  <NextList timers={timers} paused={dueRuns} />
                </>
              )}
              <PaneHead id="home-lately" title="Recent runs">
                <Link to="/runs" className="link small">
                  All runs
                </Link>
              </PaneHead>
              {lately.data?.rows.length === 0 ? (
                <p className="home-none dim">
                  No runs yet. Send an event to a source or a workflow, or run one by hand.
                </p>
              ) : (
                <Lines runs={lately.data?.rows ?? []} now={now} label="Recent runs" />
              )}
            </div>
            <aside aria-label="What needs attention">
              {waiting.length > 0 && (
                <>
                  <PaneHead
                    title="Waiting for a person"
                    count={`${count(waiting.length)}${isMoreWaiting ? " or more" : ""}`}
                  >
                    {waiting.length > WAITING_SHOWN && (
                      <Link to="/runs" search={{ status: "paused" }} className="link small">
                        All paused
                      </Link>
                    )}
                  </PaneHead>
                  <ul className="home-list">
                    {waiting.slice(0, WAITING_SHOWN).map((run) => (
                      <Waiting key={run.id} run={run} />
                    ))}
                  </ul>
                </>
              )}
              <PaneHead title="Failing" hint={groups.isSuccess ? range.says : undefined}>
                <Link to="/errors" className="link small">
                  All errors
                </Link>
              </PaneHead>
              <ul className="home-list">
                {failing.slice(0, FAILING_SHOWN).map((group) => (
                  <Group key={group.id} group={group} owners={owned.data} />
                ))}
              </ul>
              {failing.length > FAILING_SHOWN && (
                <p className="home-none">
                  <Link to="/errors" className="link">
                    And {count(failing.length - FAILING_SHOWN)}
                    {isMoreFailing && " or more"} more
                  </Link>
                </p>
              )}
              {groups.isSuccess && failing.length === 0 && (
                <p className="home-none dim">
                  No run has failed {range.says}.
                  {older.length > 0 && (
                    <>
                      {" "}
                      The last one failed <When at={older[0]?.last_seen_ms ?? 0} />.
                    </>
                  )}
                </p>
              )}
              {changed.length > 0 && (
                <>
                  <PaneHead id="home-changed" title="Recent changes">
                    <Link to="/settings/audit" className="link small">
                      Audit log
                    </Link>
                  </PaneHead>
                  <Changed records={changed} most={7} actors={actors.data} names={names} />
                </>
              )}
            </aside>
          </div>
        )}
      </div>
    </>
  );
}

/** More than these are found in their list. */
const FAILING_SHOWN = 5;
const WAITING_SHOWN = 5;

const isForPerson = ({ paused }: RunRow) => paused?.kind === "suspend";

type Named = { id: string; name: string };

type Parts = {
  sources: readonly Named[];
  workflows: readonly Named[];
  accounts: readonly Named[];
  webhooks: readonly { id: string; name: string | null; url: string }[];
};

function namesOf(
  owners: Map<string, Owner> | undefined,
  parts: Parts | undefined,
): Map<string, Changeable> {
  const names = new Map<string, Changeable>();
  for (const { id, name, isWorkflow } of owners?.values() ?? []) {
    names.set(id, { id, name, kind: isWorkflow ? "workflow" : "source" });
  }
  for (const { id, name } of parts?.sources ?? []) names.set(id, { id, name, kind: "source" });
  for (const { id, name } of parts?.workflows ?? []) names.set(id, { id, name, kind: "workflow" });
  for (const { id, name } of parts?.accounts ?? []) names.set(id, { id, name, kind: "account" });
  for (const { id, name, url } of parts?.webhooks ?? []) {
    names.set(id, { id, name: name ?? url, kind: "webhook" });
  }
  return names;
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
        <span className="failed-text">{run.error.code}</span> <Line text={run.error.message} />
      </>
    );
  }
  return (
    run.summary ?? (
      <span className="mid">
        {run.kind === "test" ? "test, " : ""}
        {happenedIn(run)}
      </span>
    )
  );
}

function Group({ group, owners }: { group: ErrorGroup; owners: Map<string, Owner> | undefined }) {
  const id = group.workflow_id ?? group.source_id ?? "";
  return (
    <li className="home-item">
      <Link to="/errors" search={{ group: group.id }} className="row-link cut">
        <span className="failed-text">{group.code}</span> <Line text={group.message} />
      </Link>
      <span className="num end">{count(group.count)}</span>
      <span className="dim small home-under">
        <span className="cut">{owners?.get(id)?.name ?? id}</span>
        {group.step !== "" && <span className="cut">· {group.step}</span>}
        <span className="nowrap">
          · last <When at={group.last_seen_ms} />
        </span>
      </span>
    </li>
  );
}

function Waiting({ run }: { run: RunRow }) {
  return (
    <li className="home-item has-glyph">
      <Glyph status="paused" />
      <Link to="/runs/$id" params={{ id: run.id }} className="row-link cut name">
        {run.summary ?? `Waiting in ${run.paused?.step ?? "a step"}`}
      </Link>
      <span className="dim small home-under">
        <span className="cut">{run.ownerName}</span>
        {run.paused?.until !== undefined && (
          <span className="nowrap">
            · cancelled <Until at={run.paused.until} />
            unless resumed
          </span>
        )}
      </span>
      <span className="home-act">
        <ActLink needs="invoke" size="sm" to="/runs/$id" params={{ id: run.id }} hash="resume">
          Resume…
        </ActLink>
      </span>
    </li>
  );
}
