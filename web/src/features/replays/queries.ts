import { queryOptions } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { PAGE_MAX } from "~/api/queries";

const ASK_MS = 1_500;

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

export const replayQuery = (id: string) =>
  queryOptions({
    queryKey: ["replay", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/replays/{id}", { params: { path: { id } }, signal })),
    // Runs go on after the last was queued.
    refetchInterval: ({ state: { data: replay } }) =>
      replay !== undefined && isOver(replay.status) && replay.runs.unfinished === 0
        ? false
        : ASK_MS,
  });

export const replayRunsQuery = (id: string) =>
  queryOptions({
    queryKey: ["replay", id, "runs"],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/replays/{id}/runs", {
          params: { path: { id }, query: { limit: PAGE_MAX } },
          signal,
        }),
      ),
  });
