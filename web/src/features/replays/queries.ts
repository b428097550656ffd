/** Queries of a replay and its runs. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { PAGE_MAX, pagesOf } from "~/api/queries";
import { listedRowOf, type RunRow } from "~/api/run-list";
import type { ReplayedRun, ReplayWithRuns } from "~/api/schema";

/** What a state of a replay is called. */
export const replayWords: Record<string, string> = {
  queued: "Starting",
  running: "Running",
  paused: "Paused",
  done: "Done",
  failed: "Stopped by an error",
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

/** A run of a replay, and the same run as lists show it; pruned runs are in no list. */
export type Replayed = { run: ReplayedRun; row: RunRow | undefined };

/** Runs of a replay, a page at a time. */
export const replayRunsQuery = (id: string) =>
  pagesOf(["replay", id, "runs"], async (query, signal) => {
    const params = { path: { id }, query };
    const { data: runs, page_info } = await body(
      client.GET("/v1/replays/{id}/runs", { params, signal }),
    );
    const listed = await listedRuns(
      runs.map(({ run_id }) => run_id),
      signal,
    );
    return {
      data: runs.map((run): Replayed => ({ run, row: listed.get(run.run_id) })),
      page_info,
    };
  });

async function listedRuns(ids: readonly string[], signal: AbortSignal) {
  if (ids.length === 0) return new Map<string, RunRow>();
  const query = { ids: ids.join(","), limit: PAGE_MAX };
  const listed = await data(client.GET("/v1/runs", { params: { query }, signal }));
  return new Map(listed.map((run) => [run.id, listedRowOf(run)]));
}

/** The group of errors that the runs of a replay were of. */
export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-group", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/error_groups/{id}", { params: { path: { id } }, signal })),
    retry: false,
  });
