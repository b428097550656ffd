/** Head of a run: status, owner, version, times, and actions on a pause. */

import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useState } from "react";
import { numberOf, textOf } from "~/api/json";
import { isFinal, type RunDetail } from "~/api/runs";
import { useHashAct } from "~/shell/hash-act";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { clock, duration, shortId } from "~/ui/format";
import { Fact } from "~/ui/pane";
import { StatusPill } from "~/ui/status";
import { Tag } from "~/ui/tag";
import { Until, When } from "~/ui/time";
import { Kin } from "./kin";
import { ResumeDialog } from "./resume-dialog";

export function RunTop({
  run,
  version,
  now,
}: {
  run: RunDetail;
  version: number | undefined;
  now: number;
}) {
  const name = run.ownerName ?? run.ownerId;
  const queued = (run.startedAt ?? now) - run.acceptedAt;
  return (
    <div className="run-top">
      <div className="run-title">
        <StatusPill status={run.status} />
        <h2>
          <Link
            to={run.isWorkflow ? "/workflows/$id/runs" : "/sources/$id"}
            params={{ id: run.ownerId }}
            className="quiet-link"
          >
            {name}
          </Link>
        </h2>
        {run.error?.step !== undefined && (
          <span className="mid">
            at <span className="mono">{run.error.step}</span>
          </span>
        )}
        {run.kind !== "live" && <Tag>{run.kind}</Tag>}
        {run.context.replay === true && run.replayOf === undefined && <Tag>replay</Tag>}
      </div>
      <dl className="facts">
        {version !== undefined && (
          <Fact name="Version">
            <Tag>v{version}</Tag>
          </Fact>
        )}
        <Fact name="Accepted">
          <span className="num">{clock(run.acceptedAt)}</span>{" "}
          <span className="dim">
            <When at={run.acceptedAt} />
          </span>
        </Fact>
        <Fact name={isFinal(run.status) ? "Duration" : "Running for"}>
          <span className="num">{duration((run.finishedAt ?? now) - run.acceptedAt)}</span>
        </Fact>
        <Fact name="Queued">
          <span className="num">{duration(queued)}</span>
        </Fact>
        {run.attempt > 1 && (
          <Fact name="Attempt">
            <span className="num">{run.attempt}</span>
          </Fact>
        )}
        {run.replayOf !== undefined && (
          <Fact name="Replay of" wide>
            <Lineage other={run.replayOf} first={run.replayOf} second={run.id} />
            {run.eventEdited && ", with an edited event"}
          </Fact>
        )}
        {run.replayedBy !== undefined && (
          <Fact name="Replayed by" wide>
            <Lineage other={run.replayedBy} first={run.id} second={run.replayedBy} />
          </Fact>
        )}
        {run.exitReason !== undefined && (
          <Fact name="Ended by $.flow.exit" wide>
            {run.exitReason || "no reason given"}
          </Fact>
        )}
        <Kin run={run} />
      </dl>
      {run.status === "paused" && run.paused !== undefined && <Paused run={run} />}
    </div>
  );
}

/** Another run of the same event, and both side by side. */
function Lineage({ other, first, second }: { other: string; first: string; second: string }) {
  return (
    <>
      <Link to="/runs/$id" params={{ id: other }} className="link mono">
        {shortId(other)}
      </Link>
      {", "}
      <Link to="/runs/compare" search={{ a: first, b: second }} className="link">
        compare
      </Link>
    </>
  );
}

const kinds: Record<string, string> = {
  delay: "Resumes automatically",
  suspend:
    "Waiting for a call of its resume URL, or for someone to resume it here. Otherwise it is cancelled",
  rerun: "The step runs again when it is resumed, or automatically",
  retry: "The step failed and is retried",
};

function Paused({ run }: { run: RunDetail }) {
  const refused = useRefusal("invoke");
  const [asks, setAsks] = useState(false);
  // Home's links to it end so; nothing is resumed before it is said.
  useHashAct("resume", () => setAsks(refused === undefined));
  const kind = textOf(run.paused?.kind) ?? "";
  const until = numberOf(run.paused?.until_ms);
  const step = textOf(run.paused?.namespace);
  return (
    <div className="run-paused">
      <Banner
        kind="waits"
        act={
          <Button size="sm" icon={Play} refused={refused} onClick={() => setAsks(true)}>
            Resume…
          </Button>
        }
        title={<>Paused{step !== undefined && <> in {step}</>}</>}
      >
        {kinds[kind] ?? "Waiting"}
        {until !== undefined && (
          <>
            {" "}
            <Until at={until} />
          </>
        )}
        .
      </Banner>
      {asks && <ResumeDialog run={run} onClose={() => setAsks(false)} />}
    </div>
  );
}
