/** Two runs side by side: the event, each step's result and time, and the code between their versions. */

import { exactText } from "~/json/exact";
import "./run-page.css";
import "./compare.css";
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ArrowLeftRight } from "lucide-react";
import type { ReactNode } from "react";
import { isFinal, type RunDetail } from "~/api/runs";
import { ReadFailed } from "~/shell/read-failed";
import { useTitle } from "~/shell/title";
import { SkeletonRows } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { clock, duration, plural, shortId } from "~/ui/format";
import { Crumbs, PageHead } from "~/ui/pane";
import { Glyph, StatusMark } from "~/ui/status";
import { Tag } from "~/ui/tag";
import { Worded } from "~/ui/worded";
import { comparedSteps, isSameError, tookOf, type Verdict, verdictWords } from "./compare";
import { type Difference, everyDifference } from "./differs";
import { type Plan, planQuery, runQuery } from "./queries";
import { changesOf } from "./replay-plan";

const EVENT_MOST = 50;

export function ComparePage({ a, b }: { a: string; b: string }) {
  useTitle("Compare runs");
  const first = useQuery(runQuery(a));
  const second = useQuery(runQuery(b));
  const error = first.error ?? second.error;
  return (
    <>
      <PageHead
        acts={
          <Link
            to="/runs/compare"
            search={{ a: b, b: a }}
            replace
            className={buttonClass({ look: "quiet" })}
          >
            <ArrowLeftRight className="icon" aria-hidden="true" />
            Swap
          </Link>
        }
      >
        <Crumbs>
          <Link to="/runs">Runs</Link>
          <h1>Compare runs</h1>
        </Crumbs>
      </PageHead>
      {error !== null ? (
        <ReadFailed
          what="The runs"
          error={error}
          again={() => Promise.all([first.refetch(), second.refetch()])}
        />
      ) : first.data === undefined || second.data === undefined ? (
        <SkeletonRows />
      ) : (
        <Compared first={first.data} second={second.data} />
      )}
    </>
  );
}

function usePlan(run: RunDetail): Plan | undefined {
  const { data } = useQuery({
    ...planQuery(run.ownerId, run.deploymentId ?? ""),
    enabled: run.isWorkflow && run.deploymentId !== undefined,
  });
  return data;
}

function Compared({ first, second }: { first: RunDetail; second: RunDetail }) {
  const [had, has] = [usePlan(first), usePlan(second)];
  const steps = comparedSteps(first, second);
  const event = everyDifference(first.event, second.event, "event", EVENT_MOST);
  const changes =
    first.ownerId === second.ownerId ? new Map(changesOf(had, has).map((c) => [c.name, c])) : null;
  // A step that did not run may still be what was mended.
  const others = [...(changes?.values() ?? [])].filter(
    ({ name }) => !steps.some((step) => step.name === name),
  );
  return (
    <div className="scroll compare">
      <div className="compare-heads">
        <Head run={first} plan={had} name="First" />
        <Head run={second} plan={has} name="Second" />
      </div>
      <Part title="Event" says={event.length === 0 ? "same" : plural(event.length, "difference")}>
        <Differences all={event} label="Differences of the events" />
      </Part>
      {steps.map(({ name, verdict, differences, ...step }) => (
        <Part
          key={name}
          mono
          title={name}
          says={<Said verdict={verdict} failed={step.failedTwice} />}
          times={<Times first={tookOf(step.first, first)} second={tookOf(step.second, second)} />}
        >
          <Differences all={differences} label={`Differences of ${name}`} />
          <CodeChange change={changes?.get(name)} />
        </Part>
      ))}
      {others.map((change) => (
        <Part key={change.name} mono title={change.name} says="ran in neither">
          <CodeChange change={change} />
        </Part>
      ))}
      <Errors first={first} second={second} />
    </div>
  );
}

function Head({ run, plan, name }: { run: RunDetail; plan: Plan | undefined; name: string }) {
  return (
    <section className="compare-head" aria-label={`${name} run`}>
      <span className="small dim">{name}</span>
      <StatusMark status={run.status} />
      <Link to="/runs/$id" params={{ id: run.id }} className="link mono">
        {shortId(run.id)}
      </Link>
      {plan !== undefined && <Tag>v{plan.version}</Tag>}
      <span className="cut">{run.ownerName ?? run.ownerId}</span>
      <span className="num dim">{clock(run.acceptedAt)}</span>
      {isFinal(run.status) && run.finishedAt !== undefined && (
        <span className="num">{duration(run.finishedAt - run.acceptedAt)}</span>
      )}
    </section>
  );
}

function Part({
  title,
  says,
  times,
  mono = false,
  children,
}: {
  title: string;
  says: ReactNode;
  times?: ReactNode;
  mono?: boolean;
  children?: ReactNode;
}) {
  return (
    <section className="compare-part" aria-label={title}>
      <div className="compare-line">
        <h2 className={mono ? "mono cut" : "cut"}>{title}</h2>
        <span className="mid cut">{says}</span>
        <span className="grow" />
        {times}
      </div>
      {children}
    </section>
  );
}

const shapes = {
  same: "succeeded",
  differs: "kept",
  failed: "failed",
  mended: "succeeded",
  "only-first": "waiting",
  "only-second": "waiting",
} as const satisfies Record<Verdict, string>;

function Said({ verdict, failed }: { verdict: Verdict; failed: boolean }) {
  return (
    <span className={verdict === "failed" ? "row failed-text" : "row"}>
      <Glyph status={failed ? "failed" : shapes[verdict]} small />
      {failed && "failed in both, "}
      {verdictWords[verdict]}
    </span>
  );
}

/** How long a step took in the first and in the second, in milliseconds. */
function Times({ first, second }: { first: number | undefined; second: number | undefined }) {
  if (first === undefined && second === undefined) return null;
  const took = (ms: number | undefined) => (ms === undefined ? "–" : duration(ms));
  return (
    <span className="num dim nowrap">
      {took(first)} <span aria-hidden="true">→</span>
      <span className="sr">, then</span> {took(second)}
    </span>
  );
}

const signs = { gone: "−", added: "+", changed: "~" } as const;
const signWords = { gone: "gone", added: "new", changed: "changed" } as const;

function Differences({ all, label }: { all: readonly Difference[]; label: string }) {
  if (all.length === 0) return null;
  return (
    <ul className="compare-list code" aria-label={label} tabIndex={0}>
      {all.map(({ kind, path, before, after }) => (
        <li key={kind + path} className={`is-${kind}`}>
          <span aria-hidden="true">{signs[kind]}</span>
          <span className="sr">{signWords[kind]}</span>
          <span>{path}</span>
          <span className="dim">
            {kind === "changed" ? `${short(before)} → ${short(after)}` : null}
            {kind === "gone" ? short(before) : null}
            {kind === "added" ? short(after) : null}
          </span>
        </li>
      ))}
    </ul>
  );
}

const SHORT = 120;

function short(value: unknown): string {
  const text = exactText(value) ?? "undefined";
  return text.length > SHORT ? `${text.slice(0, SHORT)}…` : text;
}

function CodeChange({
  change,
}: {
  change: { before: string; after: string; name: string } | undefined;
}) {
  if (change === undefined) return null;
  return (
    <div className="compare-code">
      <DiffView before={change.before} after={change.after} label={`Code of ${change.name}`} />
    </div>
  );
}

function Errors({ first, second }: { first: RunDetail; second: RunDetail }) {
  const same = isSameError(first, second);
  const shown = [
    { name: "First", error: first.error },
    { name: "Second", error: same ? undefined : second.error },
  ];
  return shown.map(
    ({ name, error }) =>
      error !== undefined && (
        <Part
          key={name}
          title={same ? "Error of both" : `Error of the ${name.toLowerCase()}`}
          says={error.step === undefined ? null : <span className="mono">{error.step}</span>}
        >
          <p className="compare-error">
            <span className="failed-text name">{error.code}</span> <Worded text={error.message} />
          </p>
        </Part>
      ),
  );
}
