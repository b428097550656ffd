/** Connected accounts: of which app, whether the provider still takes them, and what one can do. */

import "~/ui/table.css";
import "./accounts.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Pencil, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { Account } from "~/api/schema";
import { useConnect } from "~/shell/connect";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { useRefusal } from "~/shell/session";
import { useTitle } from "~/shell/title";
import { WouldGo } from "~/shell/would-go";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { PageHead } from "~/ui/pane";
import { Glyph } from "~/ui/status";
import { Tile } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { ChooseApp } from "./choose-app";

const accountsQuery = pagesOf(["accounts", "all"], (query, signal) =>
  body(client.GET("/v1/accounts", { params: { query }, signal })),
);

export function AccountsPage() {
  useTitle("Accounts");
  const accounts = useInfiniteQuery(accountsQuery);
  const refused = useRefusal("full");
  const [chooses, setChooses] = useState(false);
  const connect = (
    <Button look="primary" icon={Plus} refused={refused} onClick={() => setChooses(true)}>
      Connect an account
    </Button>
  );
  return (
    <>
      <PageHead acts={connect}>
        <h1>Accounts</h1>
      </PageHead>
      <div className="scroll">
        <ListState
          query={accounts}
          what="The accounts"
          empty={
            <Empty title="No account is connected.">
              <p>
                An account lets code call a service with your rights. Code gets the values of the
                accounts that its own props name, and of no others.
              </p>
              {connect}
            </Empty>
          }
        >
          {(items) => (
            <table className="tbl t-accounts" aria-label="Accounts">
              <thead>
                <tr className="tr is-head">
                  <th>App</th>
                  <th>Account</th>
                  <th>Health</th>
                  <th className="is-right">Connected</th>
                  <th>
                    <span className="sr">Acts</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((account) => (
                  <Row key={account.id} account={account} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {chooses && <ChooseApp onClose={() => setChooses(false)} />}
    </>
  );
}

function Row({ account }: { account: Account }) {
  const connect = useConnect();
  const queries = useQueryClient();
  const refused = useRefusal("full");
  const [open, setOpen] = useState<"rename" | "delete" | null>(null);
  const again = () =>
    connect({ app: account.app.name_slug, accountId: account.id, onConnected: () => {} });
  const remove = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/accounts/{id}", { params: { path: { id: account.id } } })),
    onSuccess: () => {
      setOpen(null);
      say({ title: `${account.name} is disconnected` });
      void queries.invalidateQueries({ queryKey: ["accounts"] });
    },
  });
  return (
    <tr className="tr">
      <td className="row">
        <Tile name={account.app.name} />
        <span className="cut">{account.app.name}</span>
      </td>
      <td className="cut">
        <span className="name">{account.name}</span>{" "}
        <span className="mono dim small">{account.id}</span>
      </td>
      <td className="row">
        {account.healthy ? (
          <span className="status">
            <Glyph status="succeeded" />
            Healthy
          </span>
        ) : (
          <>
            <Glyph status="paused" />
            <span className="cut paused-text" title={account.problem ?? undefined}>
              {account.problem ?? "refused by the provider"}
            </span>
            {refused === undefined && (
              <Button size="sm" onClick={again}>
                Reconnect…
              </Button>
            )}
          </>
        )}
      </td>
      <td className="dim is-right">
        <When at={account.created_at * 1_000} />
      </td>
      <td className="is-right">
        {refused === undefined && (
          <Menu
            label={`Acts on ${account.name}`}
            trigger={<IconButton icon={Ellipsis} size="sm" label={`Acts on ${account.name}`} />}
          >
            <MenuItem icon={Pencil} onSelect={() => setOpen("rename")}>
              Rename…
            </MenuItem>
            <MenuItem icon={RefreshCw} onSelect={again}>
              Connect again…
            </MenuItem>
            <MenuLine />
            <MenuItem icon={Trash2} danger onSelect={() => setOpen("delete")}>
              Disconnect…
            </MenuItem>
          </Menu>
        )}
        {open === "rename" && <Rename account={account} onClose={() => setOpen(null)} />}
        <Confirm
          open={open === "delete"}
          onClose={() => setOpen(null)}
          title={`Disconnect “${account.name}”?`}
          act="Disconnect"
          busy={remove.isPending && "Disconnecting…"}
          error={remove.error === null ? undefined : sentence(remove.error)}
          onConfirm={() => remove.mutate()}
        >
          <p>
            What uses it fails from then on. Its values are deleted here, and revoked at the
            provider where that is possible.
          </p>
          <WouldGo kind="account" id={account.id} />
        </Confirm>
      </td>
    </tr>
  );
}

function Rename({ account, onClose }: { account: Account; onClose: () => void }) {
  const queries = useQueryClient();
  const [name, setName] = useState(account.name);
  const rename = useMutation({
    mutationFn: () =>
      data(
        client.PUT("/v1/accounts/{id}", {
          params: { path: { id: account.id } },
          body: { name: name.trim() },
        }),
      ),
    onSuccess: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: ["accounts"] });
    },
  });
  return (
    <FormDialog
      title="Rename account"
      act="Rename"
      busy="Renaming…"
      mutation={rename}
      onClose={onClose}
    >
      <Field label="Name">
        {(control) => (
          <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
    </FormDialog>
  );
}
