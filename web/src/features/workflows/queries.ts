/** Queries of workflows, their versions, runs, drafts and sources. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data, exactData } from "~/api/client";
import { isComponentId } from "~/api/component-id";
import { allOf, PAGE_MAX, pagesOf } from "~/api/queries";
import type { Deployment, EventSummary } from "~/api/schema";

export const FOUND_MOST = 30;
/** As many as the menu of events has of each; its dialog has all. */
export const RUNS_OFFERED = 10;
export const EVENTS_OFFERED = 8;
/** Runs among which lists look for the newest of each workflow. */
const NEWEST = 100;

/** Those that carry a tag, or all. */
export const workflowsQuery = (tag?: string) =>
  pagesOf(["workflows", tag ?? ""], (query, signal) =>
    body(
      client.GET("/v1/workflows", {
        params: { query: { ...query, stats: "24h", ...(tag === undefined ? {} : { tag }) } },
        signal,
      }),
    ),
  );

export const workflowQuery = (id: string) =>
  queryOptions({
    queryKey: ["workflow", id, "record"],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/workflows/{id}", { params: { path: { id } }, signal })),
  });

export const deploymentQuery = (id: string, deployment: string) =>
  queryOptions({
    queryKey: ["workflow", id, "deployment", deployment],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/workflows/{id}/deployments/{deployment}", {
          params: { path: { id, deployment } },
          signal,
        }),
      ),
    // A deployment never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

export const deploymentsQuery = (id: string) =>
  pagesOf(
    ["workflow", id, "deployments"],
    (query, signal) =>
      body(
        client.GET("/v1/workflows/{id}/deployments", {
          params: { path: { id }, query: { ...query, runs: true } },
          signal,
        }),
      ),
    50,
  );

/** The newest runs of all workflows; the stream of runs reads it again. */
export const newestRunsQuery = queryOptions({
  queryKey: ["runs", "newest-of-workflows"],
  queryFn: ({ signal }) =>
    data(
      client.GET("/v1/runs", {
        params: {
          query: {
            limit: NEWEST,
            include: "id,workflow_id,status,kind,error,created_at_ms",
          },
        },
        signal,
      }),
    ),
});

/** The newest run of a workflow that did not run lately. */
export const lastRunQuery = (id: string) =>
  queryOptions({
    queryKey: ["runs", "last", id],
    queryFn: async ({ signal }) => {
      const [run] = await data(
        client.GET("/v1/workflows/{id}/runs", {
          params: {
            path: { id },
            query: { limit: 1, include: "id,status,kind,error,created_at_ms" },
          },
          signal,
        }),
      );
      return run ?? null;
    },
    staleTime: 30_000,
  });

/** The newest live runs: tests, ten of them by each rehearsal, bring no event of their own. */
export const recentRunsQuery = (id: string) =>
  queryOptions({
    queryKey: ["runs", "recent", id],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/runs", {
          params: {
            query: {
              owner_id: id,
              kind: "live",
              limit: RUNS_OFFERED,
              include: "id,status,created_at_ms",
            },
          },
          signal,
        }),
      ),
    staleTime: 0,
  });

/** Live runs of a workflow whose event can be tested with; `words`: those that have all of them. */
export const runsToChooseQuery = (id: string, words: string) =>
  pagesOf(
    ["runs", "to-choose", id, words],
    (page, signal) => {
      const of = { owner_id: id, kind: "live" as const, ...(words === "" ? {} : { q: words }) };
      return body(client.GET("/v1/runs", { params: { query: { ...of, ...page } }, signal }));
    },
    50,
  );

/** Events of a source without what is in them; `words`: those with this text. */
export const eventsToChooseQuery = (source: string, words: string) =>
  pagesOf(
    ["events", "to-choose", source, words],
    (page, signal) => {
      const of = {
        include: "id,indexed_at_ms,metadata",
        ...(words === "" ? {} : { q: words }),
      };
      const params = { path: { id: source }, query: { ...of, ...page } };
      return body(client.GET("/v1/sources/{id}/event_summaries", { params, signal }));
    },
    50,
  );

/** Events that a request with `x-pd-notrigger` left. */
export const keptEventsQuery = (emitter: string, eventName: string | undefined) =>
  queryOptions({
    queryKey: ["events", emitter, eventName ?? ""],
    queryFn: ({ signal }) =>
      exactData<EventSummary[]>(
        emitter.startsWith("p_")
          ? client.GET("/v1/workflows/{id}/event_summaries", {
              params: {
                path: { id: emitter },
                query: { limit: EVENTS_OFFERED, event_name: eventName, expand: "event" },
              },
              parseAs: "text",
              signal,
            })
          : client.GET("/v1/sources/{id}/event_summaries", {
              params: { path: { id: emitter }, query: { limit: EVENTS_OFFERED, expand: "event" } },
              parseAs: "text",
              signal,
            }),
      ),
    staleTime: 0,
    retry: false,
  });

/** One source: its address, and whether it is on. */
export const sourceQuery = (id: string) =>
  queryOptions({
    queryKey: ["sources", "one", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/sources/{id}", { params: { path: { id } }, signal })),
    retry: false,
  });

/** The example of an event that the component of a source has, else null. */
export const sampleEmitQuery = (source: string) =>
  queryOptions({
    queryKey: ["source", source, "sample-emit"],
    queryFn: async ({ signal }) => {
      const of = await data(
        client.GET("/v1/sources/{id}", { params: { path: { id: source } }, signal }),
      );
      const params = { path: { id: of.component_id } };
      const component = await data(client.GET("/v1/components/{id}", { params, signal }));
      return component.sample_emit ?? null;
    },
    retry: false,
  });

/** The newest events of a source, without what is in them. */
export const newestEventsQuery = (source: string, eventName: string) =>
  queryOptions({
    queryKey: ["newest-events", source, eventName],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/sources/{id}/event_summaries", {
          params: {
            path: { id: source },
            query: {
              limit: 8,
              include: "id,indexed_at_ms,metadata",
              ...(eventName === "" ? {} : { event_name: eventName }),
            },
          },
          signal,
        }),
      ),
    staleTime: 0,
    retry: false,
  });

const OPEN = { state: "open,regressed", include: "id,workflow_id,count" };

/** Open errors of each workflow. `isWhole`: one page has them all, so that a workflow without any has none. */
export const openErrorsQuery = queryOptions({
  queryKey: ["error-groups", "of-workflows"],
  queryFn: async ({ signal }) => {
    const query = { ...OPEN, limit: PAGE_MAX };
    const groups = await body(client.GET("/v1/error_groups", { params: { query }, signal }));
    const counts = new Map<string, number>();
    for (const { workflow_id, count } of groups.data) {
      if (workflow_id !== null) counts.set(workflow_id, (counts.get(workflow_id) ?? 0) + count);
    }
    return { counts, isWhole: groups.data.length < PAGE_MAX };
  },
  staleTime: 5_000,
});

/** Open errors of one workflow, where those of all are too many for a page. All are read: the row says their number. */
export const openErrorsOfQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-groups", id, "open"],
    queryFn: async ({ signal }) => {
      const groups = await allOf((page) =>
        body(
          client.GET("/v1/workflows/{id}/error_groups", {
            params: { path: { id }, query: { ...page, ...OPEN } },
            signal,
          }),
        ),
      );
      return groups.reduce((sum, { count }) => sum + count, 0);
    },
    staleTime: 5_000,
  });

type Live = Pick<Deployment, "id" | "created_at">;

/**
 * Errors that a workflow's version still adds to: the groups that were seen since it was deployed,
 * the last seen first.
 */
export const readFailing = (id: string, live: Live, signal?: AbortSignal) =>
  allOf((page) =>
    body(
      client.GET("/v1/workflows/{id}/error_groups", {
        params: { path: { id }, query: { ...page, from: live.created_at * 1_000 } },
        ...(signal === undefined ? {} : { signal }),
      }),
    ),
  );

export const failingQuery = (id: string, live: Live) =>
  queryOptions({
    queryKey: ["error-groups", id, "since", live.id],
    queryFn: ({ signal }) => readFailing(id, live, signal),
    staleTime: 5_000,
  });

export const actionsQuery = (query: string) =>
  queryOptions({
    queryKey: ["action-search", query],
    queryFn: async ({ signal }) => {
      const found = await data(
        client.GET("/v1/components/search", {
          params: { query: { query, type: "action", limit: FOUND_MOST } },
          signal,
        }),
      );
      return found.components;
    },
    staleTime: 30_000,
  });

/** Published actions of the organization, offered before anything is searched. */
export const ownActionsQuery = queryOptions({
  queryKey: ["own-actions"],
  queryFn: async ({ signal }) => {
    const include = "id,key,name,description,type,published";
    const found = await allOf((page) =>
      body(client.GET("/v1/components", { params: { query: { ...page, include } }, signal })),
    );
    return found.flatMap(({ key, name, description, type, published }) =>
      type === "action" && published && key !== null
        ? [{ key, name: name ?? "", description: description ?? "" }]
        : [],
    );
  },
  staleTime: 30_000,
});

export const componentOfKey = (key: string) =>
  queryOptions({
    queryKey: ["action-component", key],
    queryFn: async ({ signal }) => {
      const params = { path: { id: key } };
      const { code, configurable_props } = isComponentId(key)
        ? await data(client.GET("/v1/components/{id}", { params, signal }))
        : await data(client.GET("/v1/components/registry/{id}", { params, signal }));
      return { code, configurable_props };
    },
    staleTime: 60_000,
    retry: false,
  });

export const sourceNamesQuery = queryOptions({
  queryKey: ["sources", "names"],
  queryFn: ({ signal }) =>
    allOf((page) =>
      body(
        client.GET("/v1/sources", {
          params: { query: { ...page, include: "id,name,active" } },
          signal,
        }),
      ),
    ),
  staleTime: 30_000,
});
