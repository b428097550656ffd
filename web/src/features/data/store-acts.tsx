/** Actions on a whole data store: shown as commands, and deletion. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { AsCommand } from "~/shell/as-command";
import { curlOf, line } from "~/shell/command-line";
import { useRefusal } from "~/shell/session";
import { WouldGo } from "~/shell/would-go";
import { Button } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";

export function StoreActs({
  id,
  name,
  keys,
  chosen,
}: {
  id: string;
  name: string;
  keys: number;
  /** The key whose value is shown. */
  chosen: string | undefined;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () => data(client.DELETE("/v1/data_stores/{id}", { params: { path: { id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["data-stores"] });
      say({ title: `${name} was deleted` });
      void navigate({ to: "/data" });
    },
  });
  return (
    <>
      <AsCommand
        about={name}
        commands={() => [
          {
            name: "Command line",
            text: line`millrace data-stores show ${id}\nmillrace data-stores get ${id} ${chosen ?? "KEY"}`,
          },
          { name: "curl", text: curlOf("GET", ["data_stores", id, "keys"]) },
        ]}
      />
      <Button look="danger" icon={Trash2} refused={refused} onClick={() => setAsks(true)}>
        Delete…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Delete data store “${name}”?`}
        act="Delete data store"
        typed={keys > 0 ? name : undefined}
        busy={remove.isPending && "Deleting…"}
        error={remove.error === null ? undefined : sentence(remove.error)}
        onConfirm={() => remove.mutate()}
      >
        <p>{plural(keys, "key")} and their values are deleted.</p>
        <WouldGo kind="data_store" id={id} />
      </Confirm>
    </>
  );
}
