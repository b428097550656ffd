/** Page of a run: head, time line, chosen step, log. */

import "./run-page.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link, useNavigate } from "@tanstack/react-router";
import {
  ChevronDown,
  ChevronUp,
  CircleSlash,
  ClipboardCopy,
  Link2,
  PencilLine,
  RotateCcw,
  StepForward,
} from "lucide-react";
import { useState } from "react";
import { textOf } from "~/api/json";
import { isFinal, type RunDetail } from "~/api/runs";
import { useLive } from "~/api/stream";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { linkTo } from "~/shell/link-to";
import { ReadFailed } from "~/shell/read-failed";
import { useReplay } from "~/shell/replay";
import { useRefusal, useSession } from "~/shell/session";
import { shortcuts, useShortcuts } from "~/shell/shortcuts";
import { useTitle } from "~/shell/title";
import { SkeletonRows } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { copyText } from "~/ui/copy";
import { count, duration, plural, shortId } from "~/ui/format";
import { Log } from "~/ui/log";
import { Crumbs, PageHead, PaneHead } from "~/ui/pane";
import { useNow } from "~/ui/time";
import { say } from "~/ui/toast";
import { CancelDialog } from "./cancel-dialog";
import { issueText } from "./issue";
import { type Plan, planQuery, runQuery, type SourcePlan, sourcePlanQuery } from "./queries";
import { neighboursOf } from "./run-order";
import { RunTop } from "./run-top";
import { StepPanel } from "./step-panel";
import type { Tab } from "./tabs";
import { TimelineView } from "./timeline-view";

export function RunPage({
  id,
  step,
  tab,
  onShow,
}: {
  id: string;
  step: string | undefined;
  tab: Tab | undefined;
  onShow: (shown: { step?: string | undefined; tab?: Tab | undefined }) => void;
}) {
  const { data: run, error, refetch } = useQuery(runQuery(id));
  const { org } = useSession();
  const goesOn = run !== undefined && !isFinal(run.status);
  useLive(goesOn ? `run:${id}` : undefined, ["run", id]);
  const planned = useQuery({
    ...planQuery(run?.ownerId ?? "", run?.deploymentId ?? ""),
    enabled: run?.isWorkflow === true && run.deploymentId !== undefined,
  });
  const sourced = useQuery({
    ...sourcePlanQuery(run?.ownerId ?? "", run?.deploymentId),
    enabled: run?.isWorkflow === false,
  });
  // The facts at the top stand in one line: none is shown before all are known. Related runs have a
  // line of their own, so that a long search for them holds nothing back.
  const comes = planned.isLoading || sourced.isLoading;
  useTitle(run?.ownerName === undefined ? `Run ${shortId(id)}` : `${run.ownerName}, ${run.status}`);
  return (
    <>
      <PageHead acts={run !== undefined && <Acts run={run} />}>
        <Crumbs>
          <Link to="/runs">Runs</Link>
          <h1 className="mono cut" title={id}>
            {shortId(id)}
          </h1>
        </Crumbs>
        <Beside id={id} />
        <IconButton
          icon={Link2}
          size="sm"
          label="Copy link"
          keys="y"
          onClick={() => void copyLink(org.id)}
        />
      </PageHead>
      {error !== null && run === undefined && (
        <ReadFailed what="The run" error={error} again={refetch} />
      )}
      {run === undefined || comes ? (
        error === null && <SkeletonRows />
      ) : (
        <Body
          run={run}
          plan={planned.data}
          source={sourced.data}
          step={step}
          tab={tab}
          onShow={onShow}
        />
      )}
    </>
  );
}

/** The runs above and below in the list that one came from. */
function Beside({ id }: { id: string }) {
  const navigate = useNavigate();
  const found = neighboursOf(id);
  const go = (to: string | undefined) =>
    to === undefined
      ? undefined
      : () => void navigate({ to: "/runs/$id", params: { id: to }, replace: true });
  useShortcuts({ previous: go(found?.previous), next: go(found?.next) });
  if (found === undefined) return null;
  const { at, of, previous, next } = found;
  return (
    <span className="run-beside row">
      <IconButton
        icon={ChevronUp}
        size="sm"
        label="Previous run of the list"
        keys={shortcuts.previous.keys}
        disabled={previous === undefined}
        onClick={go(previous)}
      />
      <IconButton
        icon={ChevronDown}
        size="sm"
        label="Next run of the list"
        keys={shortcuts.next.keys}
        disabled={next === undefined}
        onClick={go(next)}
      />
      <span className="small dim num only-wide">
        {count(at)} of {count(of)}
      </span>
    </span>
  );
}

async function copyLink(org: string): Promise<void> {
  if (await copyText(linkTo(window.location.href, org))) say({ title: "Link copied" });
}

function Acts({ run }: { run: RunDetail }) {
  const { org } = useSession();
  const navigate = useNavigate();
  const replay = useReplay();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const open = () => replay({ kind: "one", run: run.id });
  const [asks, setAsks] = useState(false);
  const edit = () =>
    void navigate({
      to: "/workflows/$id/edit",
      params: { id: run.ownerId },
      search: {
        run: run.id,
        ...(run.error?.step === undefined ? {} : { step: run.error.step }),
      },
    });
  const cancels = run.status === "queued" || run.status === "paused";
  useShortcuts({
    replay: isFinal(run.status) && refused === undefined ? open : () => {},
    link: () => void copyLink(org.id),
    edit: run.isWorkflow ? edit : undefined,
    cancel: cancels && refused === undefined ? () => setAsks(true) : undefined,
  });
  return (
    <>
      <AsCommand
        commands={() => [
          { name: "curl", text: curlOf("GET", ["runs", run.id]) },
          { name: "curl, replay", text: curlOf("POST", ["runs", run.id, "replay"], { body: {} }) },
          {
            name: "Command line",
            text: line`millrace runs show ${run.id}\nmillrace runs replay ${run.id}`,
          },
        ]}
      />
      {run.isWorkflow && (
        <Button icon={PencilLine} keys="e" onClick={edit}>
          <span className="sr-narrow">Open in the editor</span>
        </Button>
      )}
      {cancels && (
        <Button icon={CircleSlash} keys="c" refused={refused} onClick={() => setAsks(true)}>
          Cancel run…
        </Button>
      )}
      {asks && (
        <CancelDialog
          wanted={{ runs: [run.id] }}
          says={`of ${run.ownerName ?? run.ownerId}`}
          onClose={() => setAsks(false)}
          onDone={() => {
            setAsks(false);
            void queries.invalidateQueries({ queryKey: runQuery(run.id).queryKey });
          }}
        />
      )}
      {isFinal(run.status) && (
        <Button icon={RotateCcw} keys="r" refused={refused} onClick={open}>
          Replay…
        </Button>
      )}
    </>
  );
}

function Body({
  run,
  plan,
  source,
  step,
  tab,
  onShow,
}: {
  run: RunDetail;
  plan: Plan | undefined;
  source: SourcePlan | undefined;
  step: string | undefined;
  tab: Tab | undefined;
  onShow: (shown: { step?: string | undefined; tab?: Tab | undefined }) => void;
}) {
  const ticking = useNow();
  const now = isFinal(run.status)
    ? (run.finishedAt ?? run.acceptedAt)
    : Math.max(ticking, Date.now());
  const steps = plan?.steps ?? (source === undefined ? [] : [source.step]);
  const current = step ?? firstShown(run);
  return (
    <>
      <RunTop run={run} version={plan?.version ?? source?.version} now={now} />
      <div className="run-cols scroll">
        <div className="run-left">
          <TimelineView
            run={run}
            plan={plan?.steps ?? []}
            now={now}
            current={current}
            triggerName={triggerWord(run)}
            onChoose={(key) => onShow({ step: key })}
          />
          <section className="dock" aria-label="Logs of the run">
            <PaneHead
              title="Logs"
              hint={
                run.logs.length === 0 ? undefined : `all steps, ${plural(run.logs.length, "line")}`
              }
            />
            <Log
              lines={run.logs}
              label="Log lines"
              withSteps={run.logs.some((line) => line.step !== undefined)}
              none={isFinal(run.status) ? "No log lines." : "No log lines yet."}
            />
          </section>
        </div>
        <div className="run-right">
          <StepPanel
            run={run}
            stepKey={current}
            plan={steps}
            tab={tab}
            onTab={(next) => onShow({ step: current, tab: next })}
          />
          {run.error !== undefined && <ErrorActs run={run} />}
        </div>
      </div>
    </>
  );
}

/** A run opens at the step that failed, else at its last. */
function firstShown(run: RunDetail): string {
  if (run.error?.step !== undefined) return run.error.step;
  if (!run.isWorkflow) return run.startedAt === undefined ? "$trigger" : "$run";
  const told = run.steps.findLast(({ exports }) => Object.keys(exports).length > 0);
  return told?.name ?? run.steps.at(-1)?.name ?? "$trigger";
}

const triggerWords: Record<string, string> = {
  HTTP: "HTTP request",
  TIMER: "Timer",
  COMPONENT: "Source event",
  SDK: "Manual run",
};

function triggerWord(run: RunDetail): string {
  if (run.context.replay === true) return "Replay";
  return triggerWords[run.sourceType ?? ""] ?? textOf(run.sourceType) ?? "Trigger";
}

function ErrorActs({ run }: { run: RunDetail }) {
  const { org } = useSession();
  const replay = useReplay();
  const refused = useRefusal("invoke");
  const step = run.isWorkflow ? run.error?.step : undefined;
  const again = () =>
    replay({ kind: "one", run: run.id, ...(step === undefined ? {} : { fromStep: step }) });
  useShortcuts({ replayStep: refused === undefined ? again : () => {} });
  const copy = async () => {
    if (await copyText(issueText(run, linkTo(window.location.href, org.id))))
      say({ title: "Copied as Markdown" });
  };
  return (
    <div className="act-bar">
      <Button
        look="primary"
        icon={step === undefined ? RotateCcw : StepForward}
        keys="shift+r"
        refused={refused}
        onClick={again}
      >
        <span className="cut">{step === undefined ? "Replay…" : `Replay from ${step}…`}</span>
      </Button>
      <span className="grow" />
      <Button look="quiet" icon={ClipboardCopy} onClick={() => void copy()}>
        <span className="sr-narrow">Copy for an issue</span>
      </Button>
    </div>
  );
}

export function tookText(run: RunDetail, now: number): string {
  return duration((run.finishedAt ?? now) - run.acceptedAt);
}
