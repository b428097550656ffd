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

/** The code of a source, as the one step of its runs. */
export const sourcePlanQuery = (source: string) =>
  queryOptions({
    queryKey: ["source-plan", source],
    queryFn: async ({ signal }): Promise<PlannedStep> => {
      const record = await data(
        client.GET("/v1/sources/{id}", { params: { path: { id: source } }, signal }),
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
      return {
        name: "run",
        disabled: false,
        code: component.code,
        entry,
        files: { ...Object.fromEntries(others), [entry]: component.code },
        key: component.key ?? undefined,
        props: record.configured_props,
        apps: [],
      };
    },
    staleTime: 60_000,
  });
