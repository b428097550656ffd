/** Record of the open workflow as the server has it, polled: `millrace dev`, another tab or a person may save meanwhile. */

import { keepPreviousData, useQuery, useQueryClient } from "@tanstack/react-query";
import { useEffect } from "react";
import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import type { Workflow } from "~/api/schema";
import { deploymentQuery } from "./queries";

/** No topic of the stream has drafts or deployments. */
const READ_AGAIN_MS = 5_000;

/** `base`: the record that the page has; the same is given back while the server has no other. */
export function useOnServer(base: Workflow): Workflow {
  const { id } = base;
  const queries = useQueryClient();
  const { data: seen, refetch } = useQuery({
    // A save or deploy of this page makes another base: what was seen before it says nothing.
    queryKey: ["workflow", id, "seen", base.revision, base.deployment_id],
    queryFn: ({ signal }) => {
      const params = { path: { id }, query: { include: "revision,deployment_id" } };
      return data(client.GET("/v1/workflows/{id}", { params, signal }));
    },
    // Of a workflow that was deleted nothing comes any more; a server that is away comes back.
    refetchInterval: ({ state: { error } }) =>
      error instanceof ApiError && error.status === 404 ? false : READ_AGAIN_MS,
  });
  const isOther =
    seen !== undefined &&
    (seen.revision !== base.revision || seen.deployment_id !== base.deployment_id);
  const { data: other } = useQuery({
    queryKey: ["workflow", id, "other", seen?.revision, seen?.deployment_id],
    queryFn: async ({ signal }) => {
      const record = await data(
        client.GET("/v1/workflows/{id}", { params: { path: { id } }, signal }),
      );
      // The head shows both: together, none of them is missing in between.
      if (record.deployment_id !== null) {
        await queries.prefetchQuery(deploymentQuery(id, record.deployment_id));
      }
      return record;
    },
    enabled: isOther,
    // Of one revision and deployment the content never changes.
    staleTime: Number.POSITIVE_INFINITY,
    placeholderData: keepPreviousData,
  });
  // Windows side by side are both visible: only their focus changes.
  useEffect(() => {
    const again = () => void refetch();
    window.addEventListener("focus", again);
    return () => window.removeEventListener("focus", again);
  }, [refetch]);
  return isOther && other !== undefined && other.revision >= base.revision ? other : base;
}
