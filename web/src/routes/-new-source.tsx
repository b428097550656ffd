/** A source that is found and deployed without leaving the page that needs it. */

import { useQuery } from "@tanstack/react-query";
import { ArrowLeft } from "lucide-react";
import { useState } from "react";
import { FindSource, type Found } from "~/features/sources/find";
import { componentOfId, componentOfKey } from "~/features/sources/queries";
import { ReadAddress } from "~/features/sources/read-address";
import { ReadFailed } from "~/shell/read-failed";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { DeployComponent } from "./-deploy-component";

export default function NewSource({
  onClose,
  onDeployed,
}: {
  onClose: () => void;
  onDeployed: (source: { id: string; name: string }) => void;
}) {
  const [found, setFound] = useState<Found | undefined>(undefined);
  return (
    <Dialog
      open
      onClose={onClose}
      title="New source"
      size="wide"
      className="dialog-source"
      foot={
        <>
          {found !== undefined && (
            <Button icon={ArrowLeft} onClick={() => setFound(undefined)}>
              Choose another
            </Button>
          )}
          <span className="grow" />
          <CloseDialog />
        </>
      }
    >
      {found === undefined ? (
        <div className="scroll">
          <FindSource first="" onChoose={setFound} />
        </div>
      ) : "url" in found ? (
        <ReadAddress url={found.url} onRead={(component) => setFound({ component })} />
      ) : "key" in found ? (
        <OfKey named={found.key} onDeployed={onDeployed} />
      ) : (
        <OfId id={found.component} onDeployed={onDeployed} />
      )}
    </Dialog>
  );
}

type Deployed = { onDeployed: (source: { id: string; name: string }) => void };

function OfKey({ named, onDeployed }: { named: string } & Deployed) {
  const { data, error, refetch } = useQuery(componentOfKey(named));
  if (data === undefined) return <Waits error={error} again={refetch} />;
  if (data.type === "action") return <Action name={data.name ?? named} />;
  return <DeployComponent named={{ key: named }} component={data} onDeployed={onDeployed} />;
}

function OfId({ id, onDeployed }: { id: string } & Deployed) {
  const { data, error, refetch } = useQuery(componentOfId(id));
  if (data === undefined) return <Waits error={error} again={refetch} />;
  if (data.type === "action") return <Action name={data.name ?? id} />;
  return <DeployComponent named={{ component_id: id }} component={data} onDeployed={onDeployed} />;
}

function Action({ name }: { name: string }) {
  return (
    <div className="dialog-body">
      <Banner kind="failed" role="alert" title={`${name} is an action, not a source`}>
        Actions are steps. Close this, and add it as a step.
      </Banner>
    </div>
  );
}

function Waits({ error, again }: { error: Error | null; again: () => unknown }) {
  return (
    <>
      {error === null ? (
        <p className="dialog-body dim">Loading the component…</p>
      ) : (
        <ReadFailed what="The component" error={error} again={again} />
      )}
    </>
  );
}
