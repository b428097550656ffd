/** Queries of Home: newest runs, error groups, statistics and changes. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { TRIGGER_FIELDS, withLiveTriggers } from "~/api/live-triggers";
import { allOf, PAGE_MAX } from "~/api/queries";
import { listedRowOf } from "~/api/run-list";
import type { RunKind } from "~/api/runs";
import type { Range } from "./ranges";

const GROUPS_ASK_MS = 10_000;
const STATS_ASK_MS = 5_000;
const SLOW_ASK_MS = 30_000;
/** What changed lately, and the deployments that the chart marks. */
const CHANGES = PAGE_MAX;

const GROUP_FIELDS = "id,code,message,step,workflow_id,source_id,count,last_seen_ms";

type Filter = { status?: string; from?: number; kind?: RunKind };

/** The newest runs that fit, and how many there are. */
export const newestRuns = (filter: Filter, limit: number) =>
  queryOptions({
    queryKey: ["runs", "newest", filter, limit],
    queryFn: async ({ signal }) => {
      const page = await body(
        client.GET("/v1/runs", { params: { query: { ...filter, limit } }, signal }),
      );
      return { rows: page.data.map(listedRowOf), total: page.page_info.total_count };
    },
  });

export const newestGroups = queryOptions({
  queryKey: ["error-groups", "newest"],
  queryFn: ({ signal }) =>
    body(
      client.GET("/v1/error_groups", {
        params: { query: { limit: PAGE_MAX, state: "open,regressed", include: GROUP_FIELDS } },
        signal,
      }),
    ),
  refetchInterval: GROUPS_ASK_MS,
});

/** Runs of the range by how they ended, and of the range before it. */
export const statsQuery = ({ name, span, bucket }: Range) =>
  queryOptions({
    queryKey: ["run-stats", name],
    queryFn: async ({ signal }) => {
      // Buckets begin at whole minutes or hours, so that the next answer has the same ones.
      const to = Math.ceil(Date.now() / bucket) * bucket;
      const from = to - span;
      const read = (query: { from: number; to: number; bucket_ms: number }) =>
        data(client.GET("/v1/stats/runs", { params: { query }, signal }));
      const [now, before] = await Promise.all([
        read({ from, to, bucket_ms: bucket }),
        read({ from: from - span, to: from, bucket_ms: span }),
      ]);
      return { now, before: before.total };
    },
    refetchInterval: STATS_ASK_MS,
    placeholderData: (before) => before,
  });

/** What may stand still: sources, workflows, accounts and webhooks, as their lists have them. */
export const partsQuery = queryOptions({
  queryKey: ["home", "parts"],
  queryFn: async ({ signal, client: queries }) => {
    const include = `name,${TRIGGER_FIELDS}`;
    const [sources, workflows, accounts, webhooks] = await Promise.all([
      allOf((query) => body(client.GET("/v1/sources", { params: { query }, signal }))),
      allOf((page) =>
        body(client.GET("/v1/workflows", { params: { query: { ...page, include } }, signal })),
      ).then((drafts) => withLiveTriggers(queries, drafts)),
      allOf((query) => body(client.GET("/v1/accounts", { params: { query }, signal }))),
      allOf((query) => body(client.GET("/v1/webhooks", { params: { query }, signal }))),
    ]);
    return { sources, workflows, accounts, webhooks };
  },
  refetchInterval: SLOW_ASK_MS,
});

/** The newest records of the audit, which owners may read. */
export const changesQuery = queryOptions({
  queryKey: ["audit", "newest"],
  queryFn: ({ signal }) =>
    data(client.GET("/v1/audit", { params: { query: { limit: CHANGES } }, signal })),
  refetchInterval: SLOW_ASK_MS,
});
