/** OAuth clients: programs that get short-lived tokens for their id and secret. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Plus, Trash2 } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { OauthClient } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { ShownOnce } from "~/shell/shown-once";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { PaneHead } from "~/ui/pane";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { ScopeChoice, scopesOf } from "./scopes";

const clientsQuery = pagesOf(["oauth-clients"], (query, signal) =>
  body(client.GET("/v1/oauth/clients", { params: { query }, signal })),
);

export function OauthClients() {
  useTitle("OAuth clients");
  const clients = useInfiniteQuery(clientsQuery);
  const [makes, setMakes] = useState(false);
  const [shown, setShown] = useState<{ id: string; secret: string } | null>(null);
  return (
    <>
      <PaneHead title="OAuth clients" hint="tokens that are valid for an hour, instead of a key">
        <Button size="sm" icon={Plus} onClick={() => setMakes(true)}>
          New client
        </Button>
      </PaneHead>
      <div className="scroll">
        <ListState
          query={clients}
          what="The clients"
          empty={
            <Empty title="No clients yet.">
              <p>
                A program uses a client to request short-lived tokens instead of holding an API key.
              </p>
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-keys-list" aria-label="OAuth clients">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th>Permissions</th>
                  <td />
                  <th className="is-right">Created</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((each) => (
                  <Row key={each.id} of={each} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {makes && (
        <Make
          onClose={() => setMakes(false)}
          onMade={(made) => {
            setMakes(false);
            setShown(made);
          }}
        />
      )}
      {shown !== null && (
        <ShownOnce
          title="OAuth client"
          label="Client ID and secret"
          secret={`${shown.id}\n${shown.secret}`}
          says="The secret is not shown again."
          onStored={() => setShown(null)}
        />
      )}
    </>
  );
}

function Row({ of }: { of: OauthClient }) {
  const queries = useQueryClient();
  const [asks, setAsks] = useState(false);
  const end = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/oauth/clients/{id}", { params: { path: { id: of.id } } })),
    onSuccess: () => {
      setAsks(false);
      void queries.invalidateQueries({ queryKey: ["oauth-clients"] });
    },
  });
  return (
    <tr className="tr">
      <td className="cut">
        <span className="name">{of.name}</span> <span className="mono dim small">{of.id}</span>
      </td>
      <td className="row">
        {of.scopes.map((scope) => (
          <Tag key={scope}>{scope}</Tag>
        ))}
      </td>
      <td />
      <td className="dim is-right">
        <When at={of.created_at * 1_000} />
      </td>
      <td className="is-right">
        <IconButton
          icon={Trash2}
          size="sm"
          label={`Delete ${of.name}`}
          onClick={() => setAsks(true)}
        />
        <Confirm
          open={asks}
          onClose={() => setAsks(false)}
          title={`Delete “${of.name}”?`}
          act="Delete client"
          busy={end.isPending && "Deleting…"}
          error={end.error === null ? undefined : sentence(end.error)}
          onConfirm={() => end.mutate()}
        >
          <p>All of its tokens are revoked at once.</p>
        </Confirm>
      </td>
    </tr>
  );
}

function Make({
  onClose,
  onMade,
}: {
  onClose: () => void;
  onMade: (made: { id: string; secret: string }) => void;
}) {
  const queries = useQueryClient();
  const [name, setName, isNamed] = useKeptText("dialog.oauth-client");
  const [chosen, setChosen, isChosen] = useKeptText("dialog.oauth-client.scopes", "read");
  const scopes = scopesOf(chosen);
  const make = useMutation({
    mutationFn: () =>
      data(client.POST("/v1/oauth/clients", { body: { name: name.trim(), scopes: [...scopes] } })),
    onSuccess: ({ id, client_secret }) => {
      void queries.invalidateQueries({ queryKey: ["oauth-clients"] });
      onMade({ id, secret: client_secret });
    },
  });
  return (
    <FormDialog
      title="New OAuth client"
      act="Create client"
      busy="Creating…"
      mutation={make}
      typed={isNamed || isChosen}
      refused={scopes.length === 0 ? "Choose at least one permission first." : undefined}
      onClose={onClose}
    >
      <Field name="name" label="Name" optional={false}>
        {(control) => (
          <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <ScopeChoice value={scopes} onChange={(next) => setChosen(next.join(","))} />
    </FormDialog>
  );
}
