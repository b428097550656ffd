/** Row of a registry: its last update, updating it, and removing it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { Registry } from "~/api/schema";
import { useRefusal } from "~/shell/session";
import { NAMED, Used } from "~/shell/would-go";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { count, plural } from "~/ui/format";
import { State } from "~/ui/tag";
import { When } from "~/ui/time";
import { Worded } from "~/ui/worded";
import { invalidateRegistries, registryUsesQuery } from "./queries";
import { Unindexed } from "./unindexed";
import { UpdateRegistry } from "./update-registry";

export function RegistryRow({ registry }: { registry: Registry }) {
  const refused = useRefusal("deploy");
  const [opened, setOpened] = useState<"update" | "remove" | "unindexed">();
  const close = () => setOpened(undefined);
  const { name, origin, revision, unindexed_count: unindexed, failed_update: failed } = registry;
  return (
    <>
      <tr className="tr">
        <td className="name cut">{name}</td>
        <td className="mono mid cut" title={origin}>
          {origin}
          {revision !== "" && <span className="dim"> {revision.slice(0, 8)}</span>}
        </td>
        <td className="num is-right">
          <Link to="/components" search={{ registry: name }} className="link">
            {count(registry.component_count)}
            <span className="only-narrow">
              {registry.component_count === 1 ? "\u00a0component" : "\u00a0components"}
            </span>
          </Link>
        </td>
        <td className="is-right">
          {unindexed === null ? (
            <span className="dim" title="Counted from the next update on">
              unknown
            </span>
          ) : unindexed === 0 ? (
            <span className="dim num">0</span>
          ) : (
            <Button
              size="sm"
              aria-label={`${plural(unindexed, "file")} of ${name} not indexed`}
              onClick={() => setOpened("unindexed")}
            >
              {count(unindexed)}
              <span className="only-narrow"> not indexed</span>
            </Button>
          )}
        </td>
        <td className="dim is-right">
          <When at={registry.updated_at * 1_000} />
        </td>
        <td className="registry-acts">
          <IconButton
            icon={RefreshCw}
            size="sm"
            label={`Update ${name}`}
            refused={refused}
            onClick={() => setOpened("update")}
          />
          <IconButton
            icon={Trash2}
            size="sm"
            label={`Remove ${name}`}
            refused={refused}
            onClick={() => setOpened("remove")}
          />
          {opened === "unindexed" && <Unindexed name={name} onClose={close} />}
          {opened === "update" && <UpdateRegistry registry={registry} onClose={close} />}
          <Remove registry={registry} open={opened === "remove"} onClose={close} />
        </td>
      </tr>
      {failed !== null && (
        <tr className="tr registry-failed">
          <td className="small">
            <State kind="alarm">Update failed</State> <When at={failed.at * 1_000} />
            <span className="dim">, the components of the previous update are kept:</span>{" "}
            <span className="wrap">
              <Worded text={failed.message} />
            </span>
          </td>
        </tr>
      )}
    </>
  );
}

function Remove({
  registry: { name, component_count },
  open,
  onClose,
}: {
  registry: Registry;
  open: boolean;
  onClose: () => void;
}) {
  const queries = useQueryClient();
  const uses = useQuery({ ...registryUsesQuery(name), enabled: open });
  const remove = useMutation({
    mutationFn: () => data(client.DELETE("/v1/registries/{name}", { params: { path: { name } } })),
    onSuccess: () => {
      onClose();
      invalidateRegistries(queries);
    },
  });
  return (
    <Confirm
      open={open}
      onClose={onClose}
      title={`Remove registry “${name}”?`}
      act="Remove registry"
      busy={remove.isPending && "Removing…"}
      error={remove.error === null ? undefined : sentence(remove.error)}
      onConfirm={() => remove.mutate()}
    >
      <p>
        {component_count === 1 ? "Its component" : `Its ${count(component_count)} components`} can
        no longer be deployed by key. What was deployed from it keeps running.
      </p>
      {uses.error !== null && (
        <p role="alert" className="failed-text">
          What is deployed from it could not be loaded: {sentence(uses.error)}
        </p>
      )}
      {uses.error === null && uses.data === undefined && (
        <p className="dim">Loading what was deployed from it…</p>
      )}
      {uses.data?.length === 0 && <p className="mid">Nothing is deployed from it.</p>}
      {uses.data !== undefined && uses.data.length > 0 && (
        <>
          <p className="mid">Deployed from it:</p>
          <ul className="would-go" aria-label="Deployed from it">
            {uses.data.slice(0, NAMED).map((used) => (
              <li key={`${used.kind}:${used.id}`}>
                <Used of={used} />
              </li>
            ))}
            {uses.data.length > NAMED && <li>and {count(uses.data.length - NAMED)} more</li>}
          </ul>
        </>
      )}
    </Confirm>
  );
}
