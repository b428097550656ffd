/** Groups of errors that the live version still adds to. */

import { useQuery } from "@tanstack/react-query";
import type { Deployment, ErrorGroup } from "~/api/schema";
import { deploymentQuery, groupsOfQuery } from "./queries";
import { useBuilder } from "./use-builder";

/** Those that were seen since the live version was deployed: a version that mends them ends them. */
export function useFailing(): readonly ErrorGroup[] {
  const { base } = useBuilder().state;
  const { data: groups = [] } = useQuery({
    ...groupsOfQuery(base.id),
    enabled: base.deployment_id !== null,
  });
  const { data: live } = useQuery({
    ...deploymentQuery(base.id, base.deployment_id ?? ""),
    enabled: base.deployment_id !== null,
  });
  return live === undefined ? [] : failingSince(groups, live);
}

export function failingSince(
  groups: readonly ErrorGroup[],
  live: Pick<Deployment, "created_at">,
): readonly ErrorGroup[] {
  return groups.filter(({ last_seen_ms }) => last_seen_ms >= live.created_at * 1_000);
}
