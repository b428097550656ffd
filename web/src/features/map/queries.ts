/** Queries of the map: all nodes with their subscriptions, and the newest events of a node. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { TRIGGER_FIELDS, withLiveTriggers } from "~/api/live-triggers";
import { allOf } from "~/api/queries";
import { type MillMap, mapOf } from "./model";

/** More of a kind than these do not fit a map. */
export const SHOWN_MAX = 100;
const ASK_MS = 15_000;

export const mapQuery = (org: string) =>
  queryOptions({
    // With the runs: the stream of them reads it again.
    queryKey: ["runs", "map", org],
    queryFn: async ({ signal, client: queries }): Promise<MillMap & { isWhole: boolean }> => {
      const query = { limit: SHOWN_MAX };
      // All are looked at: what is joined to something may be anywhere in a long list.
      const [sources, workflows, webhooks, subscriptions, always] = await Promise.all([
        allOf((page) => {
          const include = "id,name,active,inactive_reason,stats";
          const query = { ...page, stats: "1h" as const, include };
          return body(client.GET("/v1/sources", { params: { query }, signal }));
        }),
        allOf((page) => {
          const include = `name,stats,${TRIGGER_FIELDS}`;
          const query = { ...page, stats: "1h" as const, include };
          return body(client.GET("/v1/workflows", { params: { query }, signal }));
        }).then((drafts) => withLiveTriggers(queries, drafts)),
        allOf((page) => body(client.GET("/v1/webhooks", { params: { query: page }, signal }))),
        data(client.GET("/v1/orgs/{org}/subscriptions", { params: { path: { org } }, signal })),
        data(client.GET("/v1/auto_subscriptions", { params: { query }, signal })),
      ]);
      return {
        ...mapOf({ sources, workflows, webhooks, subscriptions, always }, SHOWN_MAX),
        isWhole: [sources, workflows, webhooks].every(
          (all: readonly unknown[]) => all.length <= SHOWN_MAX,
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
