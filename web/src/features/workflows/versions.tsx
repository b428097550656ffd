/** Deployments of a workflow: what each changed against another, and going back. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import type { Deployment } from "~/api/schema";
import { ListState, useFiltered } from "~/shell/list-state";
import {
  BothVersions,
  CompareVersions,
  GoBack,
  runsInWords,
  unreadOf,
  VersionTable,
} from "~/shell/versions";
import { Empty } from "~/ui/banner";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { useLiveDeployment } from "./live-version";
import { deploymentQuery, deploymentsQuery } from "./queries";
import { useBuilder } from "./use-builder";
import { VersionChanges } from "./version-changes";

type Props = {
  /** Id of the version that is compared with another. */
  compared: string | undefined;
  onCompare: (id: string | undefined) => void;
};

export function VersionList({ compared, onCompare }: Props) {
  const { state } = useBuilder();
  const { base } = state;
  const deployments = useInfiniteQuery(deploymentsQuery(base.id));
  // Any two can be compared, and the one that the address names may be on a later page.
  const { reads } = useFiltered(deployments, compared !== undefined, "version");
  const [backTo, setBackTo] = useState<Deployment | undefined>(undefined);
  const live = useLiveDeployment() ?? undefined;
  return (
    <div className="scroll">
      <ListState
        query={deployments}
        what="The versions"
        empty={
          <Empty title="No deployments yet.">
            <p>Each deploy creates an immutable version that you can roll back to.</p>
          </Empty>
        }
      >
        {(items) => (
          <>
            <VersionTable
              items={items}
              live={live}
              about={({ steps }) => plural(steps.length, "step")}
              runs={({ runs }) => runsInWords(runs)}
              onCompare={({ id }) => onCompare(id)}
              onBack={setBackTo}
            />
            {!reads && items.some(({ id }) => id === compared) && (
              <CompareVersions
                name={base.name}
                items={items}
                chosen={compared}
                live={live}
                onClose={() => onCompare(undefined)}
              >
                {(before, after) => <Changes before={before.id} after={after.id} />}
              </CompareVersions>
            )}
          </>
        )}
      </ListState>
      {backTo !== undefined && <Back to={backTo} onClose={() => setBackTo(undefined)} />}
    </div>
  );
}

function Changes({ before, after }: { before: string; after: string }) {
  const { base } = useBuilder().state;
  const one = useQuery(deploymentQuery(base.id, before));
  const other = useQuery(deploymentQuery(base.id, after));
  return (
    <BothVersions before={one} after={other}>
      {(before, after) => <VersionChanges before={before} after={after} none="No differences." />}
    </BothVersions>
  );
}

function Back({ to, onClose }: { to: Deployment; onClose: () => void }) {
  const builder = useBuilder();
  const queries = useQueryClient();
  const { base } = builder.state;
  const live = base.deployment_id;
  const runs = useQuery({ ...deploymentQuery(base.id, live ?? ""), enabled: live !== null });
  const wanted = useQuery(deploymentQuery(base.id, to.id));
  const path = { id: base.id };
  const back = useMutation({
    mutationFn: async () => {
      const deployment = await data(
        client.POST("/v1/workflows/{id}/rollback", {
          params: { path },
          body: { deployment_id: to.id },
        }),
      );
      return {
        deployment,
        record: await data(client.GET("/v1/workflows/{id}", { params: { path } })),
      };
    },
    onSuccess: ({ deployment, record }) => {
      // The draft went back too, unless it holds what was never deployed, here or on the server.
      if (builder.dirty) builder.wentBack(record);
      else builder.read(record);
      void queries.invalidateQueries({ queryKey: ["workflow", base.id, "deployments"] });
      onClose();
      say({
        title: `Version ${deployment.version} is live`,
        about: `with the contents of v${to.version}`,
        shape: "succeeded",
      });
    },
  });
  return (
    <GoBack
      name={base.name}
      to={to}
      says="A draft with undeployed changes is kept. Otherwise the draft becomes this version too."
      busy={back.isPending}
      error={back.error}
      refused={live === null ? undefined : unreadOf(runs, wanted)}
      onGo={() => back.mutate()}
      onClose={onClose}
    >
      {live !== null && <Changes before={live} after={to.id} />}
    </GoBack>
  );
}
