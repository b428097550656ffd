/** Queries of workflows, their versions, runs, drafts and sources. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data, exactData } from "~/api/client";
import { isComponentId } from "~/api/component-id";
import { allOf, pagesOf } from "~/api/queries";
import type { EventSummary } from "~/api/schema";

const FOUND_MOST = 30;
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
              limit: 10,
              include: "id,status,created_at_ms",
            },
          },
          signal,
        }),
      ),
    staleTime: 0,
  });

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
                query: { limit: 8, event_name: eventName, expand: "event" },
              },
              parseAs: "text",
              signal,
            })
          : client.GET("/v1/sources/{id}/event_summaries", {
              params: { path: { id: emitter }, query: { limit: 8, expand: "event" } },
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

export const groupsQuery = queryOptions({
  queryKey: ["error-groups", "of-workflows"],
  queryFn: ({ signal }) =>
    data(
      client.GET("/v1/error_groups", {
        params: { query: { limit: NEWEST, state: "open,regressed" } },
        signal,
      }),
    ),
  staleTime: 5_000,
});

/** Errors of a workflow in their groups, the last seen first. */
export const groupsOfQuery = (id: string) =>
  queryOptions({
    queryKey: ["error-groups", id],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/workflows/{id}/error_groups", {
          params: { path: { id }, query: { limit: NEWEST } },
          signal,
        }),
      ),
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
    const query = { limit: 100, include: "id,key,name,description,type,published" };
    const found = await data(client.GET("/v1/components", { params: { query }, signal }));
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
