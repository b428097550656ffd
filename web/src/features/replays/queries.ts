/** Queries of a replay and its runs. */

import { keepPreviousData, queryOptions } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { PAGE_MAX } from "~/api/queries";
import { listedRowOf } from "~/api/run-list";
import type { ReplayWithRuns } from "~/api/schema";

/** What a state of a replay is called. */
export const replayWords: Record<string, string> = {
  queued: "About to begin",
  running: "Replaying",
  paused: "Paused",
  done: "Done",
  failed: "Could not go on",
  cancelled: "Cancelled",
};

export function isOver(status: string): boolean {
  return !["queued", "running", "paused"].includes(status);
}

/** Its runs go on after the last of them was queued. */
export function isFinal({ status, runs }: ReplayWithRuns): boolean {
  return isOver(status) && runs.unfinished === 0;
}

export const replayQuery = (id: string) =>
  queryOptions({
    queryKey: ["replay", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/replays/{id}", { params: { path: { id } }, signal })),
  });

/** `isFinal`: no run of it changes any more. They are read once more then, as they ended. */
export const replayRunsQuery = (id: string, isFinal: boolean) =>
  queryOptions({
    queryKey: ["replay", id, "runs", isFinal],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/replays/{id}/runs", {
          params: { path: { id }, query: { limit: PAGE_MAX } },
          signal,
        }),
      ),
    placeholderData: keepPreviousData,
  });

/** The same runs as lists show them, by their ids. Read anew with `ended`, how many of them ended. */
export const listedRunsQuery = (id: string, runs: readonly string[], ended: number) =>
  queryOptions({
    queryKey: ["replay", id, "listed", runs.length, ended],
    queryFn: async ({ signal }) => {
      const query = { ids: runs.join(","), limit: PAGE_MAX };
      const listed = await data(client.GET("/v1/runs", { params: { query }, signal }));
      return new Map(listed.map((run) => [run.id, listedRowOf(run)]));
    },
    enabled: runs.length > 0,
    placeholderData: keepPreviousData,
  });

/** The group of errors that the runs of a replay were of. */
export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-group", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/error_groups/{id}", { params: { path: { id } }, signal })),
    retry: false,
  });
