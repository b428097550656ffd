/** Live deployment of a workflow, polled, as another person may deploy while the page is open. */

import { useQuery } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { Banner } from "~/ui/banner";
import { minute } from "~/ui/format";
import { deploymentQuery } from "./queries";
import { useBuilder } from "./use-builder";

/** No topic of the stream has deployments. */
const READ_AGAIN_MS = 15_000;

/** Its id, or `null` where none is. */
export function useLiveDeployment(): string | null {
  const { base } = useBuilder().state;
  const { data: live } = useQuery({
    // With a deploy of this page the record has it.
    queryKey: ["workflow", base.id, "live", base.deployment_id],
    queryFn: async ({ signal }) => {
      const params = { path: { id: base.id }, query: { include: "deployment_id" } };
      return (await data(client.GET("/v1/workflows/{id}", { params, signal }))).deployment_id;
    },
    refetchInterval: READ_AGAIN_MS,
    refetchOnWindowFocus: true,
  });
  return live ?? base.deployment_id;
}

/** `null`: none; `undefined`: not read yet. */
export function useLiveVersion() {
  const { base } = useBuilder().state;
  const id = useLiveDeployment();
  const { data } = useQuery({ ...deploymentQuery(base.id, id ?? ""), enabled: id !== null });
  return id === null ? null : data;
}

/** Said once somebody else has deployed since the page has its record. */
export function DeployedElsewhere() {
  const { base } = useBuilder().state;
  const live = useLiveVersion();
  if (live == null || live.id === base.deployment_id) return null;
  const by = live.made_by?.name ?? "somebody";
  return (
    <div className="bld-notice">
      <Banner
        role="status"
        title={`Version ${live.version} was deployed by ${by} at ${minute(live.created_at * 1_000)}`}
      >
        It is live since. Deploy shows what differs from it.
      </Banner>
    </div>
  );
}
