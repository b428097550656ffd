/** Deployments of a workflow or source as marks of lists and charts: version, who, when and why. */

import { queryOptions } from "@tanstack/react-query";
import { client, data } from "./client";

/** Message of the deployments that `millrace dev` makes. */
export const SAVED_IN_DEV = "Saved in millrace dev";

const MARKS_MAX = 50;
const ASK_MS = 15_000;
const FIELDS = "id,version,message,made_by,created_at";

export type Deployed = {
  id: string;
  owner: string;
  isWorkflow: boolean;
  version: number;
  message: string | null;
  by: string | undefined;
  /** Epoch milliseconds, to the second. */
  at: number;
};

/** The newest deployments of one owner, newest first. */
export const deployedQuery = (owner: string, isWorkflow: boolean) =>
  queryOptions({
    queryKey: [isWorkflow ? "workflow" : "source", owner, "marks"],
    queryFn: async ({ signal }): Promise<Deployed[]> => {
      const params = { path: { id: owner }, query: { limit: MARKS_MAX, include: FIELDS } };
      const found = isWorkflow
        ? await data(client.GET("/v1/workflows/{id}/deployments", { params, signal }))
        : await data(client.GET("/v1/sources/{id}/deployments", { params, signal }));
      return found.map(({ id, version, message, made_by, created_at }) => ({
        id,
        owner,
        isWorkflow,
        version,
        message,
        by: made_by?.name ?? undefined,
        at: created_at * 1_000,
      }));
    },
    // Of an owner that was deleted no deployments are left.
    retry: false,
    refetchInterval: ({ state }) => (state.status === "error" ? false : ASK_MS),
  });
