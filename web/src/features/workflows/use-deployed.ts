/** Deployed versions of a workflow, from which an undo takes what the draft on the server has no more. */

import { useQueryClient } from "@tanstack/react-query";
import { useRef } from "react";
import type { Workflow } from "~/api/schema";
import type { Content, Draft } from "./model";
import { deploymentQuery } from "./queries";
import { isBroughtBack } from "./request";

export function useDeployed(id: string) {
  const queries = useQueryClient();
  const seen = useRef<Content[]>([]);
  return {
    /** Remembers what was deployed here: the next version may not have it. */
    note: (record: Workflow) => seen.current.unshift(record),
    /** Versions that have what the draft has and the record has not, the newest first. */
    async for(draft: Draft, record: Workflow): Promise<Content[]> {
      if (!isBroughtBack(draft, record)) return [];
      const { deployment_id } = record;
      if (deployment_id === null) return seen.current;
      const live = await queries
        .fetchQuery(deploymentQuery(id, deployment_id))
        .catch(() => undefined);
      if (live === undefined) return seen.current;
      return [{ triggers: live.triggers ?? [], steps: live.steps }, ...seen.current];
    },
  };
}
