/** Queries of a run, and of the steps and code of its version. */

import { queryOptions } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { isObject, listOf, objectOf, textOf } from "~/api/json";
import { readRun } from "~/api/read-run";
import { runOf } from "~/api/runs";
import type { Deployment } from "~/api/schema";
import { readExact } from "~/json/exact";
import { DRAFT } from "./replay-plan";

export const runQuery = (id: string) =>
  queryOptions({
    queryKey: ["run", id],
    queryFn: ({ signal }) => readRun(id, signal),
    select: runOf,
  });

export type PlannedStep = {
  name: string;
  disabled: boolean;
  code: string;
  /** Path of the code's entry, as stacks name it. */
  entry: string;
  files: Record<string, string>;
  key: string | undefined;
  props: unknown;
  apps: string[];
};

export type Plan = { version: number; steps: PlannedStep[] };

export function planOf(deployment: Pick<Deployment, "version" | "steps">): Plan {
  return {
    version: deployment.version,
    steps: deployment.steps.flatMap((step) => {
      const name = isObject(step) ? textOf(step.namespace) : undefined;
      if (!isObject(step) || name === undefined) return [];
      const saved = objectOf(step.savedComponent);
      const files = objectOf(saved.files);
      const others = Object.entries(objectOf(files.others)).flatMap(([path, text]) =>
        typeof text === "string" ? [[path, text] as const] : [],
      );
      const entry = textOf(files.entry) ?? `steps/${name}.mjs`;
      const code = textOf(saved.code) ?? "";
      return {
        name,
        disabled: step.disabled === true,
        code,
        entry,
        files: { ...Object.fromEntries(others), [entry]: code },
        key: textOf(step.component_key),
        props: parsed(textOf(step.configured_props_json)),
        apps: listOf(saved.apps).flatMap((app) => textOf(isObject(app) ? app.name : app) ?? []),
      };
    }),
  };
}

function parsed(text: string | undefined): unknown {
  try {
    return text === undefined ? {} : readExact(text);
  } catch {
    return {};
  }
}

export const planQuery = (workflow: string, deployment: string) =>
  queryOptions({
    queryKey: ["deployment", workflow, deployment],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/workflows/{id}/deployments/{deployment}", {
          params: { path: { id: workflow, deployment } },
          signal,
        }),
      ),
    select: planOf,
    // A deployment never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });

/** The deployment that is live, and the draft where it differs from it. */
export const versionsQuery = (workflow: string) =>
  queryOptions({
    queryKey: ["workflow", workflow, "versions-to-run"],
    queryFn: async ({ signal }) => {
      const { deployment_id, draft, steps } = await data(
        client.GET("/v1/workflows/{id}", {
          params: { path: { id: workflow }, query: { include: "deployment_id,draft,steps" } },
          signal,
        }),
      );
      return {
        live: deployment_id ?? undefined,
        draft: draft.changed ? planOf({ version: DRAFT, steps }) : undefined,
        changed: { at: draft.changed_at * 1_000, by: draft.changed_by?.name ?? undefined },
      };
    },
  });

/** The same as the plan of a run, where the version is known. */
export function planOfSource(of: SourcePlan | undefined): Plan | undefined {
  return of?.version === undefined ? undefined : { version: of.version, steps: [of.step] };
}

/** Id of the version of a source that is live. */
export const liveOfSourceQuery = (source: string) =>
  queryOptions({
    queryKey: ["source", source, "live-version"],
    queryFn: async ({ signal }) => {
      const { deployment_id } = await data(
        client.GET("/v1/sources/{id}", {
          params: { path: { id: source }, query: { include: "deployment_id" } },
          signal,
        }),
      );
      return { live: deployment_id ?? undefined };
    },
  });

/** Code of a source, as the one step of its runs; its version where that is known. */
export type SourcePlan = { version: number | undefined; step: PlannedStep };

/** The code of a version of a source; what is live, for a run that no version is recorded of. */
export const sourcePlanQuery = (source: string, deployment: string | undefined) =>
  queryOptions({
    queryKey: ["source-plan", source, deployment ?? "live"],
    queryFn: async ({ signal }): Promise<SourcePlan> => {
      const record =
        deployment === undefined
          ? await data(client.GET("/v1/sources/{id}", { params: { path: { id: source } }, signal }))
          : await data(
              client.GET("/v1/sources/{id}/deployments/{deployment}", {
                params: { path: { id: source, deployment } },
                signal,
              }),
            );
      const component = await data(
        client.GET("/v1/components/{id}", {
          params: { path: { id: record.component_id } },
          signal,
        }),
      );
      const files = objectOf(component.files);
      const others = Object.entries(objectOf(files.others)).flatMap(([path, text]) =>
        typeof text === "string" ? [[path, text] as const] : [],
      );
      const entry = textOf(files.entry) ?? "component.mjs";
      const step: PlannedStep = {
        name: "run",
        disabled: false,
        code: component.code,
        entry,
        files: { ...Object.fromEntries(others), [entry]: component.code },
        key: component.key ?? undefined,
        props: record.configured_props,
        apps: [],
      };
      return { version: "version" in record ? record.version : undefined, step };
    },
    staleTime: 60_000,
  });
