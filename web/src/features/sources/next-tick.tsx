/** Next tick of a source's timer. */

import { useQuery } from "@tanstack/react-query";
import type { ReactNode } from "react";
import { nextOf } from "~/api/next-times";
import { nextTimesQuery, type Schedule, scheduleOf } from "~/api/schedules";
import type { Source } from "~/api/schema";
import { Until, useNow } from "~/ui/time";

/** `show`: the words around the time, "in 42 s". */
type Show = { show: (time: ReactNode) => ReactNode };

export function NextTick({ source, show }: { source: Source } & Show) {
  const schedule = source.interfaces.map(scheduleOf).find((each) => each !== undefined);
  return schedule !== undefined && <Next schedule={schedule} owner={source.id} show={show} />;
}

function Next({ schedule, owner, show }: { schedule: Schedule; owner: string } & Show) {
  const { data: times } = useQuery(nextTimesQuery(schedule, owner));
  const next = nextOf(times, useNow());
  return next !== undefined && show(<Until at={next} />);
}
