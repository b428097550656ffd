/**
 * Triggers that run workflows. Their records have the triggers of the draft, which may differ from
 * those of the version that is deployed.
 */

import { type QueryClient, queryOptions } from "@tanstack/react-query";
import { client, data } from "./client";
import type { Workflow } from "./schema";

type Drafted = Pick<Workflow, "id" | "active" | "deployment_id" | "triggers" | "draft">;

/** Fields that `include` has to name for `liveTriggersQuery`. */
export const TRIGGER_FIELDS = "id,active,deployment_id,triggers,draft";

/** The triggers of the deployed version; of a workflow that was never deployed, those of its draft. */
export const liveTriggersQuery = ({ id, deployment_id, triggers, draft }: Drafted) => {
  const deployment = draft.changed ? deployment_id : null;
  return queryOptions({
    queryKey: ["live-triggers", id, deployment, ...(deployment === null ? [triggers] : [])],
    queryFn: async ({ signal }): Promise<readonly unknown[]> => {
      if (deployment === null) return triggers;
      const params = { path: { id, deployment } };
      const read = client.GET("/v1/workflows/{id}/deployments/{deployment}", { params, signal });
      return (await data(read)).triggers ?? [];
    },
    ...(deployment === null ? { initialData: triggers } : {}),
    // A deployment never changes.
    staleTime: Number.POSITIVE_INFINITY,
  });
};

/** The same records with the triggers that run them. */
export function withLiveTriggers<T extends Drafted>(queries: QueryClient, workflows: readonly T[]) {
  return Promise.all(
    workflows.map(async (workflow) => ({
      ...workflow,
      triggers: workflow.draft.changed
        ? await queries.fetchQuery(liveTriggersQuery(workflow))
        : workflow.triggers,
    })),
  );
}
