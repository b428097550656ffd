/** Groups of errors that a version still adds to. */

import { skipToken, useQuery } from "@tanstack/react-query";
import type { Deployment, ErrorGroup } from "~/api/schema";
import { deploymentQuery, failingQuery } from "./queries";
import { useBuilder } from "./use-builder";

/** Those of the live version, where there is one. */
export function useFailing(): readonly ErrorGroup[] {
  const { base } = useBuilder().state;
  const { data: live } = useQuery({
    ...deploymentQuery(base.id, base.deployment_id ?? ""),
    enabled: base.deployment_id !== null,
  });
  return useFailingSince(base.id, live);
}

/** Those that were seen since a version was deployed: a version that mends them ends them. */
export function useFailingSince(
  id: string,
  live: Pick<Deployment, "id" | "created_at"> | undefined,
): readonly ErrorGroup[] {
  const { data: groups = [] } = useQuery(
    live === undefined
      ? { queryKey: ["error-groups", id, "since"], queryFn: skipToken }
      : failingQuery(id, live),
  );
  return groups;
}
