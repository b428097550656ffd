/** When the timer of a source runs it next. */

import { useQuery } from "@tanstack/react-query";
import { nextTimesQuery, scheduleOf } from "~/api/schedules";
import type { Source } from "~/api/schema";
import { Until } from "~/ui/time";

const NEVER = { cron: "", zone: "UTC" };

export function NextTick({ source }: { source: Source }) {
  const schedule = source.interfaces.map(scheduleOf).find((each) => each !== undefined);
  const { data: times } = useQuery(nextTimesQuery(schedule ?? NEVER, source.id));
  const [next] = times ?? [];
  return (
    schedule !== undefined &&
    next !== undefined && (
      <>
        Next tick <Until at={next} />.
      </>
    )
  );
}
