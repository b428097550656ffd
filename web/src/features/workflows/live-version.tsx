/** Live deployment of a workflow, as another person may deploy while the page is open. */

import { useQuery } from "@tanstack/react-query";
import { SAVED_IN_DEV } from "~/api/deployments";
import { Banner } from "~/ui/banner";
import { minute } from "~/ui/format";
import { deploymentQuery } from "./queries";
import { useBuilder } from "./use-builder";

/** Its id, or `null` where none is. */
export function useLiveDeployment(): string | null {
  return useBuilder().onServer.deployment_id;
}

/** `null`: none; `undefined`: not read yet. */
export function useLiveVersion() {
  const { base } = useBuilder().state;
  const id = useLiveDeployment();
  const { data } = useQuery({ ...deploymentQuery(base.id, id ?? ""), enabled: id !== null });
  return id === null ? null : data;
}

/** Said once somebody else has deployed since the page was opened; of `millrace dev` another notice says it. */
export function DeployedElsewhere() {
  const { knownDeployment } = useBuilder();
  const live = useLiveVersion();
  if (live == null || live.id === knownDeployment || live.message === SAVED_IN_DEV) return null;
  const by = live.made_by?.name ?? "somebody";
  return (
    <div className="bld-notice">
      <Banner
        role="status"
        title={`Version ${live.version} was deployed by ${by} at ${minute(live.created_at * 1_000)}`}
      >
        It is live now. Deploy shows the differences.
      </Banner>
    </div>
  );
}
