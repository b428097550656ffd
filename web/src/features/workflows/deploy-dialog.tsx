/** Dialog of a deploy: the changes against the live version. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Rocket } from "lucide-react";
import { useRef, useState } from "react";
import { client, data } from "~/api/client";
import { resolvingError } from "~/api/error-groups";
import { sentence } from "~/api/errors";
import { asJson } from "~/api/json";
import type { ErrorGroup } from "~/api/schema";
import { useKeptField } from "~/shell/kept-text";
import { ReadFailed } from "~/shell/read-failed";
import { useReplay } from "~/shell/replay";
import { Banner, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { DeployMissing } from "./deploy-missing";
import { DeployThen, type Then } from "./deploy-then";
import { DeployWarnings } from "./deploy-warnings";
import { type Difference, differences } from "./differences";
import { Discard } from "./draft-dialog";
import { useLiveDeployment } from "./live-version";
import { savedStepsOf } from "./model";
import { deploymentQuery, readFailing } from "./queries";
import { Rehearsal } from "./rehearsal";
import type { Renames } from "./renames";
import { typed } from "./typed";
import { invalidIn } from "./unfinished";
import { useBuilder } from "./use-builder";
import { useFailingSince } from "./use-failing";
import { VersionChanges } from "./version-changes";

export function DeployDialog({ onClose }: { onClose: () => void }) {
  const builder = useBuilder();
  const { base, saved } = builder.state;
  const liveId = useLiveDeployment();
  const go = useRef<HTMLButtonElement>(null);
  // Kept when the dialog closes: a warning in it may have to be mended first.
  const message = useKeptField(`dialog.deploy.${base.id}`);
  const {
    data: live,
    error: unread,
    refetch: readAgain,
  } = useQuery({ ...deploymentQuery(base.id, liveId ?? ""), enabled: liveId !== null });
  const next = typed(base, builder.draft, saved);
  const found = live === undefined ? [] : differences(next, live);
  const renames: Renames = new Map(
    found.flatMap(({ step, was }) =>
      step === undefined || was === undefined ? [] : [[step, was]],
    ),
  );
  const { deploy } = builder;
  const invalid = invalidIn(builder.draft.steps);
  const replay = useReplay();
  const queries = useQueryClient();
  const navigate = useNavigate();
  const [then, setThen] = useState<Then>({ sends: false, finishes: false });
  const groupsNow = useFailingSince(base.id, live);
  /** Of the steps that this deploy changes: what failed there may go on with the mended code. */
  const mendedIn = (groups: readonly ErrorGroup[]) =>
    groups.find((group) =>
      found.some(({ step, was = step, kind }) => kind === "changed" && was === group.step),
    );
  /** Where replays of what failed begin: the server knows the step by its new name alone. */
  const newNameOf = (group: ErrorGroup) => found.find(({ was }) => was === group.step)?.step;
  const mendedBy = async () => {
    if (live === undefined) return undefined;
    // Read anew: runs may have failed a moment ago. Not by the query, whose read ends as the page
    // goes on to the new version. That none can be finished is no fault of the deploy.
    const groups = await readFailing(base.id, live).catch(() => []);
    return mendedIn(groups);
  };
  /** What was ticked to follow; what fails of it says so, as the deploy has succeeded. */
  const follow = async (mended: ErrorGroup | undefined) => {
    if (then.sends) {
      await data(
        client.POST("/v1/workflows/{id}/run", {
          params: { path: { id: base.id } },
          body: { event: asJson(builder.test.event.value), wait: false },
        }),
      ).then(
        ({ id }) =>
          say({
            title: "The event was sent",
            about: builder.test.event.from,
            shape: "running",
            act: {
              label: "View run",
              onClick: () => void navigate({ to: "/runs/$id", params: { id } }),
            },
          }),
        (error: Error) => say({ title: "The event was not sent", about: sentence(error) }),
      );
    }
    if (then.finishes && mended !== undefined) {
      const renamed = newNameOf(mended);
      const from = renamed === undefined ? { from_failed: true } : { from_step: renamed };
      await resolvingError(mended.id, () =>
        data(
          client.POST("/v1/replays", {
            body: { workflow_id: base.id, group: mended.id, ...from },
          }),
        ),
      ).then(
        (made) =>
          say({
            title: "Finishing the failed runs",
            about: `${mended.code} in ${base.name} is resolved unless one of them fails with it again`,
            shape: "running",
            act: {
              label: "View replay",
              onClick: () => {
                const id = "id" in made && typeof made.id === "string" ? made.id : "";
                void navigate({ to: "/replays/$id", params: { id } });
              },
            },
          }),
        (error: Error) =>
          say({ title: "The failed runs were not finished", about: sentence(error) }),
      );
    }
    void queries.invalidateQueries({ queryKey: ["runs"] });
    void queries.invalidateQueries({ queryKey: ["error-groups"] });
  };
  const submit = () => {
    if (deploy.isPending || invalid !== undefined) return;
    deploy.mutate(
      { message: message.text },
      {
        onSuccess: async ({ deployment }) => {
          message.done("");
          onClose();
          const mended = await mendedBy();
          await follow(mended);
          say({
            title: `Version ${deployment.version} is live`,
            about: base.name,
            shape: "succeeded",
            ...(mended === undefined || then.finishes
              ? {}
              : {
                  act: {
                    label: `Finish ${plural(mended.count, "failed run")}…`,
                    onClick: () =>
                      replay({
                        kind: "many",
                        stepwise: true,
                        fromStep: newNameOf(mended),
                        owner: { workflow_id: base.id },
                        name: `${mended.code} in ${base.name}`,
                        group: mended.id,
                        mended: true,
                      }),
                  },
                }),
          });
        },
      },
    );
  };
  const first = liveId === null;
  return (
    <Dialog
      open
      onClose={() => {
        deploy.reset();
        onClose();
      }}
      title={first ? "Deploy" : `Deploy, compared with v${live?.version ?? "…"}`}
      about={base.name}
      size="wide"
      typed={false}
      initialFocus={go}
      onSubmit={submit}
      foot={
        <>
          {!first && found.length > 0 && <Discard onDone={onClose} />}
          <span className="grow" />
          <CloseDialog />
          <Button
            ref={go}
            look="primary"
            icon={Rocket}
            keys="mod+enter"
            busy={deploy.isPending && "Deploying…"}
            refused={invalid}
            onClick={submit}
          >
            Deploy
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <DeployMissing />
        {first && <p>Its triggers start runs once it is deployed. So far only tests have run.</p>}
        <Field label="Message" hint="Shown in the list of versions.">
          {(props) => (
            <Input
              {...props}
              maxLength={500}
              placeholder="What this version changes, and why"
              value={message.text}
              onChange={({ target }) => message.set(target.value)}
            />
          )}
        </Field>
        <DeployWarnings changed={changedSteps(next.steps, found, first)} />
        <DeployThen then={then} onThen={setThen} mended={mendedIn(groupsNow)} />
        {deploy.error !== null && (
          <Banner kind="failed" role="alert" title="Nothing was deployed">
            {sentence(deploy.error)}
          </Banner>
        )}
        {!first && found.length > 0 && <Rehearsal steps={next.steps} renames={renames} />}
        {!first &&
          live === undefined &&
          (unread === null ? (
            <SkeletonRows rows={4} />
          ) : (
            <ReadFailed what="The version that is live" error={unread} again={readAgain} />
          ))}
        {live !== undefined && (
          <VersionChanges
            before={live}
            after={next}
            none="No changes from the live version. Deploying creates a new version of it."
          />
        )}
      </div>
    </Dialog>
  );
}

/** Names of the steps that a deploy changes, all of them at the first. */
function changedSteps(
  steps: readonly unknown[],
  found: readonly Difference[],
  first: boolean,
): ReadonlySet<string> {
  const names = savedStepsOf(steps).map(({ namespace }) => namespace);
  return new Set(names.filter((name) => first || found.some(({ step }) => step === name)));
}
