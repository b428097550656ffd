/** Dialog that updates a registry: the command, or an archive from this browser. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { Upload } from "lucide-react";
import { useRef } from "react";
import { sentence } from "~/api/errors";
import { updateRegistry } from "~/api/files";
import type { Registry } from "~/api/schema";
import { line } from "~/shell/command-line";
import { ShellBlock } from "~/shell/shell-block";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { invalidateRegistries } from "./queries";

export function UpdateRegistry({
  registry: { name },
  onClose,
}: {
  registry: Registry;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const input = useRef<HTMLInputElement>(null);
  const update = useMutation({
    mutationFn: (archive: File) => updateRegistry(name, archive),
    onSuccess: ({ component_count, unindexed_count }) => {
      onClose();
      say({
        title: `${name} was updated`,
        about: `${plural(component_count, "component")}, ${plural(unindexed_count ?? 0, "file")} not indexed.`,
      });
    },
    // A refused update is kept with the registry.
    onSettled: () => invalidateRegistries(queries),
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title="Update registry"
      about={name}
      size="middle"
      foot={
        <>
          <CloseDialog />
          <Button
            look="primary"
            icon={Upload}
            busy={update.isPending && "Uploading…"}
            onClick={() => input.current?.click()}
          >
            Upload an archive…
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p className="mid">
          The command line reads the registry from its origin again, on the machine that added it.
          The server never fetches a registry by itself:
        </p>
        <ShellBlock text={line`millrace registry update ${name}`} label="Copy the update command" />
        <p className="mid">
          Or upload a <code className="mono">.tar.gz</code> of all its files. It replaces all
          components of the registry; an archive that cannot be read changes nothing.
        </p>
        <input
          ref={input}
          type="file"
          accept=".tar.gz,.tgz,application/gzip"
          hidden
          onChange={(event) => {
            const [archive] = event.target.files ?? [];
            event.target.value = "";
            if (archive !== undefined) update.mutate(archive);
          }}
        />
        {update.error !== null && (
          <Banner kind="failed" role="alert" title="The registry was not updated">
            {sentence(update.error)}
          </Banner>
        )}
      </div>
    </Dialog>
  );
}
