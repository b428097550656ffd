/** Timers and pauses that come due. */

import { useQueries } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { isObject, textOf } from "~/api/json";
import { nextOf } from "~/api/next-times";
import type { RunRow } from "~/api/run-list";
import { nextTimesQuery, type Schedule, scheduleOf } from "~/api/schedules";
import type { Source, Workflow } from "~/api/schema";
import { useCronWords } from "~/shell/cron-words";
import { SkeletonRows } from "~/ui/banner";
import { every } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { Until, useNow } from "~/ui/time";

const SHOWN_MAX = 6;

type Timer = {
  id: string;
  owner: string;
  name: string;
  isWorkflow: boolean;
  schedule: Schedule;
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
      const schedule = scheduleOf(each);
      if (schedule === undefined) return [];
      const id = isObject(each) ? textOf(each.id) : undefined;
      return [{ id: id ?? owner.id, owner: owner.id, name: owner.name, isWorkflow, schedule }];
    });
  return [
    ...sources.filter(({ active }) => active).flatMap((each) => read(each.interfaces, each, false)),
    ...workflows
      .filter(({ active, deployment_id }) => active && deployment_id !== null)
      .flatMap((each) => read(each.triggers, each, true)),
  ];
}

const pausedWords: Record<string, string> = {
  delay: "resumes automatically",
  suspend: "cancelled unless somebody resumes it",
  rerun: "the step runs again",
  retry: "the step is retried",
};

/** What comes due, the soonest first. */
export function NextList({
  timers,
  paused,
}: {
  timers: readonly Timer[];
  paused: readonly RunRow[];
}) {
  const ticks = useQueries({
    queries: timers.map(({ schedule, owner }) => nextTimesQuery(schedule, owner)),
  });
  const now = useNow();
  const due = timers.map((timer, nth) => {
    const at = nextOf(ticks[nth]?.data, now);
    const sort = at ?? Number.MAX_SAFE_INTEGER;
    return { key: timer.id, sort, row: <TimerRow timer={timer} at={at} /> };
  });
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
  const { schedule } = timer;
  const words = useCronWords("cron" in schedule ? schedule.cron : undefined);
  const shared = { className: "row-link name cut", children: timer.name };
  const params = { id: timer.owner };
  return (
    <>
      <span className="num dim">{at !== undefined && <Until at={at} />}</span>
      <Tile name={timer.name} />
      {timer.isWorkflow ? (
        <Link to="/workflows/$id" params={params} {...shared} />
      ) : (
        <Link to="/sources/$id" params={params} {...shared} />
      )}
      <span className="mid cut">
        {"cron" in schedule ? `${words}, ${schedule.zone}` : every(schedule.seconds)}
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
      <span className="mid cut">{pausedWords[run.paused?.kind ?? ""] ?? "resumes"}</span>
    </>
  );
}
