/** Timers and pauses that come due. */

import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isObject, numberOf, textOf } from "~/api/json";
import { nextTickQuery } from "~/api/queries";
import type { RunRow } from "~/api/run-list";
import type { Source, Workflow } from "~/api/schema";
import { useCronWords } from "~/shell/cron-words";
import { SkeletonRows } from "~/ui/banner";
import { coarse, every } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Until } from "~/ui/time";

const SHOWN_MAX = 6;

type Timer = {
  id: string;
  owner: string;
  name: string;
  isWorkflow: boolean;
  cron: string | undefined;
  zone: string;
  seconds: number | undefined;
};

type Timed = {
  sources: readonly Pick<Source, "id" | "name" | "active" | "interfaces">[];
  /** With the triggers of their deployed versions. */
  workflows: readonly (Pick<Workflow, "id" | "name" | "active" | "deployment_id"> & {
    triggers: readonly unknown[];
  })[];
};

/** Timers of what is active. */
export function timersOf({ sources, workflows }: Timed): Timer[] {
  const read = (
    given: readonly unknown[],
    owner: { id: string; name: string },
    isWorkflow: boolean,
  ) =>
    given.flatMap((each): Timer[] => {
      if (!isObject(each) || each.type !== "timer") return [];
      return [
        {
          id: textOf(each.id) ?? owner.id,
          owner: owner.id,
          name: owner.name,
          isWorkflow,
          cron: textOf(each.cron),
          zone: textOf(each.timezone) ?? "UTC",
          seconds: numberOf(each.interval_seconds),
        },
      ];
    });
  return [
    ...sources.filter(({ active }) => active).flatMap((each) => read(each.interfaces, each, false)),
    ...workflows
      .filter(({ active, deployment_id }) => active && deployment_id !== null)
      .flatMap((each) => read(each.triggers, each, true)),
  ];
}

const pausedWords: Record<string, string> = {
  delay: "goes on by itself",
  suspend: "cancelled, unless somebody resumes it",
  rerun: "the step runs again",
  retry: "the step is tried again",
};

/** What comes due, the soonest first. */
export function NextList({
  timers,
  paused,
  now,
}: {
  timers: readonly Timer[];
  paused: readonly RunRow[];
  now: number;
}) {
  const crons = timers.filter(({ cron }) => cron !== undefined);
  const ticks = useQueries({
    queries: crons.map(({ cron = "", zone }) => nextTickQuery(cron, zone)),
  });
  const due = [
    ...crons.map((timer, at) => ({ timer, at: ticks[at]?.data ?? undefined })),
    // When an interval began is not told: it comes within its length.
    ...timers.filter(({ cron }) => cron === undefined).map((timer) => ({ timer, at: undefined })),
  ].map(({ timer, at }) => ({
    key: timer.id,
    sort: at ?? now + (timer.seconds ?? 0) * 1_000,
    row: <TimerRow timer={timer} at={at} />,
  }));
  const pauses = paused.flatMap((run) => {
    const until = run.paused?.until;
    return until === undefined
      ? []
      : [{ key: run.id, sort: until, row: <PauseRow run={run} until={until} /> }];
  });
  const all = [...due, ...pauses].sort((one, other) => one.sort - other.sort);
  // The times put the rows in their order.
  if (ticks.some(({ isPending }) => isPending)) {
    return <SkeletonRows rows={Math.min(all.length, SHOWN_MAX)} height={33} />;
  }
  return (
    <ul className="home-list" aria-labelledby="home-next">
      {all.slice(0, SHOWN_MAX).map(({ key, row }) => (
        <li key={key} className="home-next">
          {row}
        </li>
      ))}
    </ul>
  );
}

function TimerRow({ timer, at }: { timer: Timer; at: number | undefined }) {
  const words = useCronWords(timer.cron);
  const shared = { className: "row-link name cut", children: timer.name };
  const params = { id: timer.owner };
  return (
    <>
      <span className="num dim">
        {at !== undefined ? (
          <Until at={at} />
        ) : timer.seconds === undefined ? (
          ""
        ) : (
          `within ${coarse(timer.seconds * 1_000)}`
        )}
      </span>
      <Tile name={timer.name} />
      {timer.isWorkflow ? (
        <Link to="/workflows/$id" params={params} {...shared} />
      ) : (
        <Link to="/sources/$id" params={params} {...shared} />
      )}
      <span className="mid cut">
        {timer.cron === undefined ? every(timer.seconds ?? 0) : `${words}, ${timer.zone}`}
      </span>
    </>
  );
}

function PauseRow({ run, until }: { run: RunRow; until: number }) {
  return (
    <>
      <span className="num dim">
        <Until at={until} />
      </span>
      <span className="home-glyph">
        <Glyph status="paused" />
      </span>
      <Link to="/runs/$id" params={{ id: run.id }} className="row-link name cut">
        {run.summary ?? run.ownerName}
      </Link>
      <span className="mid cut">{pausedWords[run.paused?.kind ?? ""] ?? "goes on"}</span>
    </>
  );
}
