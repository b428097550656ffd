/** Deployments of a workflow: what each changed against another, and going back. */

import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import type { Deployment } from "~/api/schema";
import { ListState } from "~/shell/list-state";
import { CompareVersions, GoBack, VersionTable } from "~/shell/versions";
import { Empty } from "~/ui/banner";
import { count, plural } from "~/ui/format";
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
  const [backTo, setBackTo] = useState<Deployment | undefined>(undefined);
  const live = useLiveDeployment() ?? undefined;
  return (
    <div className="scroll">
      <ListState
        query={deployments}
        what="The versions"
        empty={
          <Empty title="Nothing was deployed yet.">
            <p>Each deploy makes a version that never changes, and that you can go back to.</p>
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
            {items.some(({ id }) => id === compared) && (
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

function runsInWords(runs: Deployment["runs"]): string {
  if (runs === undefined) return "";
  const total = runs.succeeded + runs.failed + runs.cancelled + runs.unfinished;
  if (total === 0) return "none";
  if (runs.failed === 0) return count(total);
  return `${count(total)}, ${count(runs.failed)} failed (${Math.max(1, Math.round((100 * runs.failed) / total))} %)`;
}

function Changes({ before, after }: { before: string; after: string }) {
  const { base } = useBuilder().state;
  const { data: one } = useQuery(deploymentQuery(base.id, before));
  const { data: other } = useQuery(deploymentQuery(base.id, after));
  if (one === undefined || other === undefined) return null;
  return <VersionChanges before={one} after={other} none="Nothing differs." />;
}

function Back({ to, onClose }: { to: Deployment; onClose: () => void }) {
  const builder = useBuilder();
  const queries = useQueryClient();
  const { base } = builder.state;
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
        about: `with what v${to.version} holds`,
        shape: "succeeded",
      });
    },
  });
  return (
    <GoBack
      name={base.name}
      to={to}
      says="The draft goes back too, unless it holds what was never deployed."
      busy={back.isPending}
      error={back.error}
      onGo={() => back.mutate()}
      onClose={onClose}
    >
      {base.deployment_id !== null && <Changes before={base.deployment_id} after={to.id} />}
    </GoBack>
  );
}
