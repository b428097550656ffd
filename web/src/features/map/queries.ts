import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { type MillMap, mapOf } from "./model";

/** More than these do not fit a map. */
export const SHOWN_MAX = 100;
const HOUR_MS = 3_600_000;
const ASK_MS = 15_000;

export const mapQuery = (org: string) =>
  queryOptions({
    // With the runs: the stream of them reads it again.
    queryKey: ["runs", "map", org],
    queryFn: async ({ signal }): Promise<MillMap & { isWhole: boolean }> => {
      const query = { limit: SHOWN_MAX };
      const from = Date.now() - HOUR_MS;
      const include = "id,workflow_id,source_id,status";
      const [sources, workflows, webhooks, subscriptions, always, runs] = await Promise.all([
        data(
          client.GET("/v1/sources", {
            params: { query: { ...query, include: "id,name,active,inactive_reason" } },
            signal,
          }),
        ),
        data(
          client.GET("/v1/workflows", {
            params: { query: { ...query, include: "id,name,active,deployment_id,triggers" } },
            signal,
          }),
        ),
        data(client.GET("/v1/webhooks", { params: { query }, signal })),
        data(client.GET("/v1/orgs/{org}/subscriptions", { params: { path: { org } }, signal })),
        data(client.GET("/v1/auto_subscriptions", { params: { query }, signal })),
        body(
          client.GET("/v1/runs", {
            params: { query: { limit: SHOWN_MAX, from, include } },
            signal,
          }),
        ),
      ]);
      return {
        ...mapOf({ sources, workflows, webhooks, subscriptions, always, runs: runs.data }),
        isWhole: [sources, workflows, webhooks, runs.data].every(
          (all: readonly unknown[]) => all.length < SHOWN_MAX,
        ),
      };
    },
    refetchInterval: ASK_MS,
  });

/** The newest events of a wheel, without what is in them. */
export const lastEventsQuery = (id: string) =>
  queryOptions({
    queryKey: ["runs", "map-events", id],
    queryFn: ({ signal }) => {
      const query = { limit: 8, include: "id,indexed_at_ms,metadata" };
      const params = { path: { id }, query };
      return id.startsWith("p_")
        ? data(client.GET("/v1/workflows/{id}/event_summaries", { params, signal }))
        : data(client.GET("/v1/sources/{id}/event_summaries", { params, signal }));
    },
  });
