/** Queries of error groups: lists by state, a group with its runs and days, recipients. */

import { infiniteQueryOptions, queryOptions } from "@tanstack/react-query";
import { body, client, data } from "~/api/client";
import { type Owner, PAGE_MAX } from "~/api/queries";
import type { ErrorGroup } from "~/api/schema";
import { DAYS, endOfDays, firstDay } from "./days";

const PAGE = 50;
const NEWEST = 3;
/** An owner has at most 1,000 groups. */
const PAGES_MAX = 10;

type Group = Pick<ErrorGroup, "id" | "code" | "workflow_id" | "source_id">;

/** Which groups a list has: those that want somebody, or those of one state. */
export const SHOWN = {
  open: { label: "Open", state: "open,regressed" },
  resolved: { label: "Resolved", state: "resolved" },
  ignored: { label: "Ignored", state: "ignored" },
} as const;

export type Shown = keyof typeof SHOWN;

export const isShown = (text: unknown): text is Shown => typeof text === "string" && text in SHOWN;

/** Groups of all workflows and sources, or of one. */
export const groupsQuery = (shown: Shown, owner: string | undefined) =>
  infiniteQueryOptions({
    queryKey: ["error-groups", shown, owner ?? ""],
    initialPageParam: undefined,
    queryFn: ({ pageParam, signal }: { pageParam: string | undefined; signal: AbortSignal }) => {
      const query = {
        limit: PAGE,
        after: pageParam,
        state: SHOWN[shown].state,
        days: DAYS,
        days_to: endOfDays(Date.now()),
      };
      if (owner === undefined) {
        return body(client.GET("/v1/error_groups", { params: { query }, signal }));
      }
      const params = { path: { id: owner }, query };
      return owner.startsWith("p_")
        ? body(client.GET("/v1/workflows/{id}/error_groups", { params, signal }))
        : body(client.GET("/v1/sources/{id}/error_groups", { params, signal }));
    },
    getNextPageParam: (last) =>
      last.data.length < PAGE ? undefined : (last.page_info.end_cursor ?? undefined),
  });

/** For how long the empty list says that no run failed. */
export const DAYS_BACK = 30;
const DAY_MS = 86_400_000;

/** How many live runs failed in these days. */
export const failedLatelyQuery = queryOptions({
  queryKey: ["run-stats", "failed-lately"],
  queryFn: async ({ signal }) => {
    const from = Date.now() - DAYS_BACK * DAY_MS;
    const query = { from, bucket_ms: DAYS_BACK * DAY_MS };
    return (await data(client.GET("/v1/stats/runs", { params: { query }, signal }))).total.failed;
  },
});

/** How many groups want somebody. */
export const openErrorsQuery = queryOptions({
  queryKey: ["error-groups", "count"],
  queryFn: async ({ signal }) => {
    const query = { limit: 1, state: SHOWN.open.state, include: "id" };
    const page = await body(client.GET("/v1/error_groups", { params: { query }, signal }));
    return page.page_info.total_count;
  },
  refetchInterval: 15_000,
});

/** One group with the history of its state. */
export const groupQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-group", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/error_groups/{id}", { params: { path: { id } }, signal })),
    refetchInterval: 15_000,
  });

/** Name of one workflow or source; its id where it is gone. */
export const ownerQuery = (id: string) =>
  queryOptions({
    queryKey: ["owner", id],
    queryFn: async ({ signal }): Promise<Owner> => {
      const isWorkflow = id.startsWith("p_");
      const params = { path: { id }, query: { include: "name" } };
      const { name } = isWorkflow
        ? await data(client.GET("/v1/workflows/{id}", { params, signal }))
        : await data(client.GET("/v1/sources/{id}", { params, signal }));
      return { id, name, isWorkflow };
    },
    staleTime: 30_000,
    retry: false,
  });

/** How often a group came on each of the last days: only lists count them. */
export const groupDaysQuery = ({ id, code, workflow_id, source_id }: Group) =>
  queryOptions({
    queryKey: ["error-group", id, "days"],
    queryFn: async ({ signal }) => {
      const counted = {
        class: code,
        days: DAYS,
        days_to: endOfDays(Date.now()),
        include: "id,days",
      };
      let after: string | undefined;
      for (let page = 0; page < PAGES_MAX; page += 1) {
        const query = { ...counted, limit: PAGE_MAX, after };
        const owner = workflow_id ?? source_id ?? "";
        const params = { path: { id: owner }, query };
        const found = await body(
          workflow_id === null
            ? client.GET("/v1/sources/{id}/error_groups", { params, signal })
            : client.GET("/v1/workflows/{id}/error_groups", { params, signal }),
        );
        const days = found.data.find((each) => each.id === id)?.days;
        if (days !== undefined) return days;
        if (found.data.length < PAGE_MAX) break;
        after = found.page_info.end_cursor ?? undefined;
      }
      return null;
    },
    refetchInterval: 15_000,
  });

/** Whether errors of a workflow are mailed, and to whom it names itself. */
export const mailQuery = (workflow: string) =>
  queryOptions({
    queryKey: ["workflow", workflow, "error-mail"],
    queryFn: async ({ signal }) => {
      const { settings } = await data(
        client.GET("/v1/workflows/{id}", {
          params: { path: { id: workflow }, query: { include: "settings" } },
          signal,
        }),
      );
      return {
        mails: settings.error_notification !== false,
        recipients: settings.error_recipients ?? [],
      };
    },
  });

/** The newest runs of a group in the days that its bars stand for. */
export const groupRunsQuery = (id: string) =>
  queryOptions({
    queryKey: ["runs", "of-group", id],
    queryFn: ({ signal }) =>
      body(
        client.GET("/v1/runs", {
          params: {
            query: {
              group: id,
              from: firstDay(Date.now()),
              limit: NEWEST,
              include: "id,summary,created_at_ms",
            },
          },
          signal,
        }),
      ),
  });
