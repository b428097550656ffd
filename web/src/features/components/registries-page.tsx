/** Registries: trees of components to deploy from by key. */

import "~/ui/table.css";
import "./components.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { Registry } from "~/api/schema";
import { line } from "~/shell/command-line";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { ShellBlock } from "~/shell/shell-block";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { count } from "~/ui/format";
import { Crumbs, PageHead } from "~/ui/pane";
import { When } from "~/ui/time";
import { registriesQuery } from "./queries";

const ADD = line`millrace registry add https://github.com/acme/components`;
const UPDATE = (name: string) => line`millrace registry update ${name}`;

export function RegistriesPage() {
  useTitle("Registries");
  const registries = useInfiniteQuery(registriesQuery);
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/components">Components</Link>
          <h1>Registries</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <ListState
          query={registries}
          what="The registries"
          empty={
            <Empty title="No registry yet.">
              <p>
                A registry is a tree of components, your own or a checkout of a public one. The
                command line reads a folder, a repository or a package of npm, and uploads it:
              </p>
              <ShellBlock text={ADD} />
            </Empty>
          }
        >
          {(items) => (
            <>
              <table className="tbl t-registries" aria-label="Registries">
                <thead>
                  <tr className="tr is-head">
                    <th>Name</th>
                    <th>Origin</th>
                    <th className="is-right">Components</th>
                    <th className="is-right">Read</th>
                    <th>
                      <span className="sr">Acts</span>
                    </th>
                  </tr>
                </thead>
                <tbody>
                  {items.map((registry) => (
                    <Row key={registry.id} registry={registry} />
                  ))}
                </tbody>
              </table>
              <section className="registries-how" aria-label="Add or update a registry">
                <p className="mid">
                  The command line adds a registry from a folder, a repository or a package of npm,
                  and reads one again where it is from:
                </p>
                <ShellBlock text={ADD} />
                <ShellBlock
                  text={UPDATE(
                    items.length === 1 && items[0] !== undefined ? items[0].name : "NAME",
                  )}
                  label="Copy the command that updates"
                />
              </section>
            </>
          )}
        </ListState>
      </div>
    </>
  );
}

function Row({ registry }: { registry: Registry }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/registries/{name}", { params: { path: { name: registry.name } } })),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["registries"] });
    },
  });
  return (
    <tr className="tr">
      <td className="name cut">{registry.name}</td>
      <td className="mono mid cut" title={registry.origin}>
        {registry.origin}
        {registry.revision !== "" && <span className="dim"> {registry.revision.slice(0, 8)}</span>}
      </td>
      <td className="num is-right">{count(registry.component_count)}</td>
      <td className="dim is-right">
        <When at={registry.updated_at * 1_000} />
      </td>
      <td>
        {refused === undefined && (
          <IconButton
            icon={Trash2}
            size="sm"
            label={`Remove ${registry.name}`}
            onClick={() => setAsks(true)}
          />
        )}
        <Confirm
          open={asks}
          onClose={() => setAsks(false)}
          title={`Remove registry “${registry.name}”?`}
          act="Remove registry"
          busy={remove.isPending && "Removing…"}
          error={remove.error === null ? undefined : sentence(remove.error)}
          onConfirm={() => remove.mutate()}
        >
          <p>
            Its {count(registry.component_count)} components cannot be deployed by their keys any
            more. What was deployed from it goes on.
          </p>
        </Confirm>
      </td>
    </tr>
  );
}
