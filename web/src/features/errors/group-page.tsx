/**
 * Page of a group of errors: its newest error, counts by day and version, runs, recipients and
 * actions.
 */

import "./errors.css";
import "./group.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { ErrorGroupRecord } from "~/api/schema";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { ReadFailed } from "~/shell/read-failed";
import { useTitle } from "~/shell/title";
import { SkeletonRows } from "~/ui/banner";
import { count } from "~/ui/format";
import { Crumbs, Fact, PageHead, PaneHead } from "~/ui/pane";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { GroupChart } from "./group-chart";
import { GroupNote } from "./group-note";
import { StateActs, StateHistory, StateOf } from "./group-state";
import { ownerOf } from "./owner";
import { groupQuery, ownerQuery } from "./queries";
import { ReplayAll } from "./replay-all";
import { WhoIsTold } from "./who-is-told";

type Parts = {
  /** The error of a run, and the runs of a group; routes put features together. */
  renderRun: (run: string) => ReactNode;
  renderRuns: (group: string) => ReactNode;
};

export function GroupPage({ id, ...parts }: { id: string } & Parts) {
  const { data: group, error, refetch } = useQuery({ ...groupQuery(id), retry: false });
  useTitle(group === undefined ? "Error" : `${group.code}, Errors`);
  return (
    <>
      <PageHead acts={group !== undefined && <Acts group={group} />}>
        <Crumbs>
          <Link to="/errors">Errors</Link>
          <h1 className="cut">{group?.code ?? id}</h1>
        </Crumbs>
        {group !== undefined && <StateOf group={group} />}
      </PageHead>
      {error !== null && group === undefined && (
        <ReadFailed what="The error" error={error} again={refetch} />
      )}
      {group === undefined ? error === null && <SkeletonRows /> : <Body group={group} {...parts} />}
    </>
  );
}

function Acts({ group }: { group: ErrorGroupRecord }) {
  const { id, workflow_id, source_id } = group;
  const owner = workflow_id === null ? { source_id } : { workflow_id };
  const again = { ...owner, group: id, ...(workflow_id === null ? {} : { from_failed: true }) };
  return (
    <>
      <AsCommand
        about={group.code}
        commands={() => [
          {
            name: "Command line",
            text: line`millrace error-groups show ${id}\nmillrace error-groups resolve ${id}`,
          },
          { name: "curl, replay all", text: curlOf("POST", ["replays"], { body: again }) },
        ]}
      />
      <StateActs group={group} />
      <ReplayAll group={group} />
    </>
  );
}

function Body({ group, renderRun, renderRuns }: { group: ErrorGroupRecord } & Parts) {
  const { data: named, isPending } = useQuery(ownerQuery(ownerOf(group).id));
  const owner = named ?? ownerOf(group);
  if (isPending) return <SkeletonRows />;
  return (
    <div className="group-cols scroll in-order">
      <div className="group-left in-order">
        <dl className="facts group-facts">
          <Fact name={owner.isWorkflow ? "Workflow" : "Source"} wide>
            <Link
              to={owner.isWorkflow ? "/workflows/$id/runs" : "/sources/$id"}
              params={{ id: owner.id }}
              className="quiet-link name"
            >
              {owner.name}
            </Link>
          </Fact>
          {group.step !== "" && (
            <Fact name="Step">
              <span className="mono">{group.step}</span>
            </Fact>
          )}
          <Fact name="Times">
            <span className="num">{count(group.count)}</span>
          </Fact>
          <Fact name="First">
            <When at={group.first_seen_ms} />
          </Fact>
          <Fact name="Last">
            <When at={group.last_seen_ms} />
          </Fact>
          {group.versions.length > 0 && (
            <Fact name="Versions" wide>
              <Versions group={group} />
            </Fact>
          )}
        </dl>
        <GroupChart group={group} />
        <section className="group-runs" aria-labelledby="runs-of-group">
          <PaneHead id="runs-of-group" title="Runs">
            <Link to="/runs" search={{ owner: owner.id, error: group.code }} className="link small">
              All of {group.code}
            </Link>
          </PaneHead>
          {renderRuns(group.id)}
        </section>
      </div>
      <div className="group-right in-order">
        <PaneHead title="Newest error">
          <Link to="/runs/$id" params={{ id: group.last_run_id }} className="link small">
            Open the newest run
          </Link>
        </PaneHead>
        {renderRun(group.last_run_id)}
        <div className="peek-body group-more in-order">
          <WhoIsTold group={group} owner={owner} />
          <GroupNote key={group.id} group={group} />
          <StateHistory id={group.id} />
        </div>
      </div>
    </div>
  );
}

const VERSIONS_SHOWN = 6;

/** In which versions it was seen, and how often in each of them. */
function Versions({ group }: { group: ErrorGroupRecord }) {
  const rest = group.versions.length - VERSIONS_SHOWN;
  return (
    <span className="group-versions">
      {group.versions.slice(0, VERSIONS_SHOWN).map(({ deployment_id, version, count: times }) => (
        <span key={deployment_id} className="nowrap">
          <Tag>{version === null ? "gone" : `v${version}`}</Tag>{" "}
          <span className="num dim">{count(times)}</span>
        </span>
      ))}
      {rest > 0 && <span className="dim">and {count(rest)} more</span>}
    </span>
  );
}
