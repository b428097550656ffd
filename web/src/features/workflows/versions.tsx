/** Deployments of a workflow: what each changed against the live one, and going back. */

import "~/ui/table.css";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { History } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { Deployment } from "~/api/schema";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { Banner, Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { count, plural } from "~/ui/format";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { CodeChanges } from "./deploy-dialog";
import { differences } from "./model";
import { deploymentQuery, deploymentsQuery } from "./queries";
import { useBuilder } from "./use-builder";

export function VersionList() {
  const { state } = useBuilder();
  const { base } = state;
  const deployments = useInfiniteQuery(deploymentsQuery(base.id));
  const [chosen, setChosen] = useState<Deployment | undefined>(undefined);
  const refused = useRefusal("deploy");
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
          <table className="tbl t-versions" aria-label="Versions">
            <thead>
              <tr className="tr is-head">
                <th>Version</th>
                <th>Message</th>
                <th>Deployed</th>
                <th title="Of the workflow's newest 10,000 runs">Live runs</th>
                <th className="is-right">
                  <span className="sr">Acts</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {items.map((each) => {
                const live = each.id === base.deployment_id;
                return (
                  <tr className="tr" key={each.id}>
                    <td className="row">
                      <Tag kind={live ? "live" : undefined}>v{each.version}</Tag>
                      {live && <span className="mid">live</span>}
                    </td>
                    <td className="cut" title={each.message ?? undefined}>
                      {each.message ?? (
                        <span className="mid">{plural(each.steps.length, "step")}</span>
                      )}
                    </td>
                    <td className="mid cut">
                      <When at={each.created_at * 1_000} />
                      {each.made_by?.name != null && <>, {each.made_by.name}</>}
                    </td>
                    <td className="mid cut">{runsInWords(each.runs)}</td>
                    <td className="is-right">
                      {!live && (
                        <Button
                          size="sm"
                          icon={History}
                          refused={refused}
                          onClick={() => setChosen(each)}
                        >
                          Go back to v{each.version}…
                        </Button>
                      )}
                    </td>
                  </tr>
                );
              })}
            </tbody>
          </table>
        )}
      </ListState>
      {chosen !== undefined && <GoBack to={chosen} onClose={() => setChosen(undefined)} />}
    </div>
  );
}

function runsInWords(runs: Deployment["runs"]): string {
  if (runs === undefined) return "";
  const total = runs.succeeded + runs.failed + runs.cancelled + runs.unfinished;
  if (total === 0) return "none";
  return runs.failed === 0 ? count(total) : `${count(total)}, ${count(runs.failed)} failed`;
}

function GoBack({ to, onClose }: { to: Deployment; onClose: () => void }) {
  const builder = useBuilder();
  const queries = useQueryClient();
  const { base } = builder.state;
  const { data: then } = useQuery(deploymentQuery(base.id, to.id));
  const { data: live } = useQuery({
    ...deploymentQuery(base.id, base.deployment_id ?? ""),
    enabled: base.deployment_id !== null,
  });
  const found =
    then === undefined || live === undefined
      ? undefined
      : differences(
          {
            ...base,
            triggers: then.triggers ?? [],
            steps: then.steps,
            settings: then.settings ?? {},
          },
          live,
        );
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
    <Dialog
      open
      onClose={onClose}
      title={`Go back to v${to.version}?`}
      about={base.name}
      size="wide"
      onSubmit={() => back.mutate()}
      foot={
        <>
          <Button onClick={onClose} keys="escape">
            Close
          </Button>
          <Button
            look="primary"
            icon={History}
            keys="mod+enter"
            busy={back.isPending && "Going back…"}
            onClick={() => back.mutate()}
          >
            Go back to v{to.version}
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p>
          What v{to.version} holds becomes live again, as a new version. The draft goes back too,
          unless it holds what was never deployed.
        </p>
        {found !== undefined && (
          <ul className="deploy-changes" aria-label="Changes">
            {found.length === 0 ? (
              <li>Nothing differs from what is live.</li>
            ) : (
              found.map((each) => <li key={each}>{each}</li>)
            )}
          </ul>
        )}
        {then !== undefined && live !== undefined && (
          <CodeChanges before={live.steps} after={then.steps} />
        )}
        {back.error !== null && (
          <Banner kind="failed" role="alert" title="Nothing went back">
            {sentence(back.error)}
          </Banner>
        )}
      </div>
    </Dialog>
  );
}
