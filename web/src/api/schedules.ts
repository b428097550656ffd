/** Next times of schedules, as the server counts them. */

import { queryOptions } from "@tanstack/react-query";
import { client, data } from "./client";
import { isObject, numberOf, textOf } from "./json";
import { askAgainMs } from "./next-times";

export type Schedule = { cron: string; zone: string } | { seconds: number };

/** The schedule of a timer, as records of sources and triggers have it. */
export function scheduleOf(timer: unknown): Schedule | undefined {
  if (!isObject(timer) || timer.type !== "timer") return undefined;
  const cron = textOf(timer.cron);
  if (cron !== undefined) return { cron, zone: textOf(timer.timezone) ?? "UTC" };
  const seconds = numberOf(timer.interval_seconds);
  return seconds === undefined ? undefined : { seconds };
}

const OWNER = /^(p|dc)_[A-Za-z0-9]+$/;

/** The next five times. `owner`: the source or workflow of the timer; with another id intervals begin now. */
export const nextTimesQuery = (schedule: Schedule, owner: string) =>
  queryOptions({
    queryKey: ["schedule", schedule, owner],
    queryFn: async ({ signal }) => {
      const of =
        "cron" in schedule
          ? { cron: schedule.cron, timezone: schedule.zone }
          : { interval_seconds: schedule.seconds };
      const query = OWNER.test(owner) ? { ...of, owner_id: owner } : of;
      const read = client.GET("/v1/schedules/next", { params: { query }, signal });
      return (await data(read)).next_ms;
    },
    enabled: !("cron" in schedule) || schedule.cron.trim() !== "",
    refetchInterval: ({ state }) => askAgainMs(state.data, Date.now()),
    retry: false,
  });
