/** Dialog of the draft's difference against the live version, from which the draft is discarded. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { Rocket, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { CloseDialog, Confirm, Dialog } from "~/ui/dialog";
import { say } from "~/ui/toast";
import { useLiveDeployment } from "./live-version";
import { deploymentQuery } from "./queries";
import { typed } from "./typed";
import { useBuilder } from "./use-builder";
import { VersionChanges } from "./version-changes";

export function DraftDialog({ onClose, onDeploy }: { onClose: () => void; onDeploy: () => void }) {
  const { state, draft } = useBuilder();
  const { base, saved } = state;
  const refused = useRefusal("deploy");
  const liveId = useLiveDeployment() ?? "";
  const { data: live, error, refetch } = useQuery(deploymentQuery(base.id, liveId));
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Draft compared with v${live?.version ?? "…"}`}
      about={base.name}
      size="wide"
      foot={
        <>
          <Discard onDone={onClose} />
          <span className="grow" />
          <CloseDialog />
          <Button look="primary" icon={Rocket} refused={refused} onClick={onDeploy}>
            Deploy…
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        {live !== undefined && (
          <VersionChanges
            before={live}
            after={typed(base, draft, saved)}
            none="No changes from the live version."
          />
        )}
        {live === undefined &&
          (error === null ? (
            <SkeletonRows rows={4} />
          ) : (
            <ReadFailed what="The version that is live" error={error} again={refetch} />
          ))}
      </div>
    </Dialog>
  );
}

/** The draft becomes what is live, secrets included. */
export function Discard({ onDone }: { onDone: () => void }) {
  const builder = useBuilder();
  const { base } = builder.state;
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const discard = useMutation({
    mutationFn: () =>
      data(client.POST("/v1/workflows/{id}/discard", { params: { path: { id: base.id } } })),
    onSuccess: (record) => {
      builder.read(record);
      onDone();
      say({ title: "The draft was discarded", about: base.name });
    },
  });
  return (
    <>
      <Button look="danger" icon={Trash2} refused={refused} onClick={() => setAsks(true)}>
        Discard draft…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title="Discard draft?"
        act="Discard draft"
        busy={discard.isPending && "Discarding…"}
        error={discard.error === null ? undefined : sentence(discard.error)}
        onConfirm={() => discard.mutate()}
      >
        <p>All changes since the live version are lost, here and on the server.</p>
      </Confirm>
    </>
  );
}
