/** When the timer of a source runs it next. */

import { useQuery } from "@tanstack/react-query";
import { nextOf } from "~/api/next-times";
import { nextTimesQuery, type Schedule, scheduleOf } from "~/api/schedules";
import type { Source } from "~/api/schema";
import { Until, useNow } from "~/ui/time";

export function NextTick({ source }: { source: Source }) {
  const schedule = source.interfaces.map(scheduleOf).find((each) => each !== undefined);
  return schedule !== undefined && <Next schedule={schedule} owner={source.id} />;
}

function Next({ schedule, owner }: { schedule: Schedule; owner: string }) {
  const { data: times } = useQuery(nextTimesQuery(schedule, owner));
  const next = nextOf(times, useNow());
  return (
    next !== undefined && (
      <>
        Next tick <Until at={next} />.
      </>
    )
  );
}
