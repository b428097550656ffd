/** Actions on an account: test it, connect it again, rename it, disconnect it. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, HeartPulse, Pencil, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { accountQuery } from "~/api/queries";
import type { Account } from "~/api/schema";
import { useConnect } from "~/shell/connect";
import { FormDialog } from "~/shell/form-dialog";
import { useRefusal } from "~/shell/session";
import { ChangedMeanwhile } from "~/shell/typed-form";
import { useTypedForm } from "~/shell/use-typed-form";
import { WouldGo } from "~/shell/would-go";
import { IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { say } from "~/ui/toast";

/** Connects an account again, with what its app asks for. */
export function useReconnect(account: Account): () => void {
  const connect = useConnect();
  return () => connect({ app: account.app.name_slug, account, onConnected: () => {} });
}

/** Asks the provider now whether it still takes the account. */
export function useCheck(account: Account) {
  const queries = useQueryClient();
  return useMutation({
    mutationFn: () =>
      data(client.POST("/v1/accounts/{id}/check", { params: { path: { id: account.id } } })),
    onSuccess: (checked) => {
      void queries.invalidateQueries({ queryKey: ["accounts"] });
      say(
        checked.healthy
          ? { title: `${checked.name} works`, shape: "succeeded" }
          : {
              title: `${checked.name} needs to be reconnected`,
              about: checked.problem ?? "The provider rejects its credentials.",
              shape: "failed",
            },
      );
    },
    onError: (error) => say({ title: "The account could not be tested", about: sentence(error) }),
  });
}

export function AccountActs({ account, onGone }: { account: Account; onGone?: () => void }) {
  const queries = useQueryClient();
  const refused = useRefusal("full");
  const again = useReconnect(account);
  const check = useCheck(account);
  const [open, setOpen] = useState<"rename" | "delete" | null>(null);
  const remove = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/accounts/{id}", { params: { path: { id: account.id } } })),
    onSuccess: () => {
      setOpen(null);
      say({ title: `${account.name} disconnected` });
      onGone?.();
      void queries.invalidateQueries({ queryKey: ["accounts"] });
    },
  });
  return (
    <>
      <Menu
        label={`Actions for ${account.name}`}
        refused={refused}
        trigger={<IconButton icon={Ellipsis} size="sm" label={`Actions for ${account.name}`} />}
      >
        <MenuItem icon={HeartPulse} disabled={check.isPending} onSelect={() => check.mutate()}>
          Test account
        </MenuItem>
        <MenuItem icon={Pencil} onSelect={() => setOpen("rename")}>
          Rename…
        </MenuItem>
        <MenuItem icon={RefreshCw} onSelect={again}>
          Reconnect…
        </MenuItem>
        <MenuLine />
        <MenuItem icon={Trash2} danger onSelect={() => setOpen("delete")}>
          Disconnect…
        </MenuItem>
      </Menu>
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
          Everything that uses it will fail. Its credentials are deleted here, and revoked at the
          provider where possible.
        </p>
        <WouldGo kind="account" id={account.id} />
      </Confirm>
    </>
  );
}

function Rename({ account, onClose }: { account: Account; onClose: () => void }) {
  const queries = useQueryClient();
  const { data: record = account } = useQuery(accountQuery(account.id));
  const form = useTypedForm<Account>({
    keepAs: `dialog.account.${account.id}`,
    record,
    textsOf: ({ name }) => ({ name }),
    send: async (check) => {
      const params = { path: { id: account.id } };
      const { name } = check(await data(client.GET("/v1/accounts/{id}", { params })));
      const body = name === undefined ? {} : { name: name.to.trim() };
      return data(client.PUT("/v1/accounts/{id}", { params, body }));
    },
    onRecord: (read) => queries.setQueryData(accountQuery(account.id).queryKey, read),
    onSaved: () => {
      onClose();
      void queries.invalidateQueries({ queryKey: ["accounts"] });
    },
  });
  const close = () => {
    form.discard();
    onClose();
  };
  return (
    <FormDialog
      title="Rename account"
      act="Rename"
      busy="Renaming…"
      mutation={form}
      refused={form.refused}
      typed={form.isTyped}
      onClose={close}
    >
      <Field name="name" label="Name" optional={false}>
        {(control) => (
          <Input
            {...control}
            value={form.textOf("name")}
            onChange={(event) => form.set("name", event.target.value)}
          />
        )}
      </Field>
      <ChangedMeanwhile form={form} record={account.id} labelOf={() => "Name"} />
    </FormDialog>
  );
}
