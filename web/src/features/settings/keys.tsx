/** API keys: scopes and end of each; creating, rotating and revoking them. */

import { useKeptText } from "~/shell/kept-text";
import "~/ui/table.css";
import "./settings.css";
import { useInfiniteQuery, useMutation, useQueryClient } from "@tanstack/react-query";
import { Ellipsis, Plus, RefreshCw, Trash2 } from "lucide-react";
import { useState } from "react";
import { body, client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { pagesOf } from "~/api/queries";
import type { ApiKey } from "~/api/schema";
import { FormDialog } from "~/shell/form-dialog";
import { ListState } from "~/shell/list-state";
import { ShownOnce } from "~/shell/shown-once";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { Button, IconButton } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { Menu, MenuItem, MenuLine } from "~/ui/menu";
import { PaneHead } from "~/ui/pane";
import { Select } from "~/ui/select";
import { Tag } from "~/ui/tag";
import { Until, When } from "~/ui/time";
import { say } from "~/ui/toast";
import { ScopeChoice, type Scopes } from "./scopes";

const keysQuery = pagesOf(["api-keys"], (query, signal) =>
  body(client.GET("/v1/api_keys", { params: { query }, signal })),
);

const DAY_S = 86_400;

export function Keys() {
  useTitle("API keys");
  const keys = useInfiniteQuery(keysQuery);
  const [makes, setMakes] = useState(false);
  const [shown, setShown] = useState<string | null>(null);
  return (
    <>
      <PaneHead title="API keys" hint="for programs and the command line">
        <Button size="sm" icon={Plus} onClick={() => setMakes(true)}>
          New key
        </Button>
      </PaneHead>
      <div className="scroll">
        <ListState query={keys} what="The keys" empty={<Empty title="No API keys." />}>
          {(items) => (
            <table className="tbl t-keys-list" aria-label="API keys">
              <thead>
                <tr className="tr is-head">
                  <th>Name</th>
                  <th>Permissions</th>
                  <th>Expires</th>
                  <th className="is-right">Created</th>
                  <th>
                    <span className="sr">Actions</span>
                  </th>
                </tr>
              </thead>
              <tbody>
                {items.map((key) => (
                  <Row key={key.id} of={key} onShown={setShown} />
                ))}
              </tbody>
            </table>
          )}
        </ListState>
      </div>
      {makes && (
        <Make
          onClose={() => setMakes(false)}
          onMade={(key) => {
            setMakes(false);
            setShown(key);
          }}
        />
      )}
      {shown !== null && (
        <ShownOnce
          title="API key"
          label="Key"
          secret={shown}
          says="The server stores only a hash of it. It is not shown again."
          onStored={() => setShown(null)}
        />
      )}
    </>
  );
}

function Row({ of, onShown }: { of: ApiKey; onShown: (key: string) => void }) {
  const queries = useQueryClient();
  const [open, setOpen] = useState<"rotate" | "end" | null>(null);
  const params = { params: { path: { id: of.id } } };
  const again = () => queries.invalidateQueries({ queryKey: ["api-keys"] });
  const rotate = useMutation({
    mutationFn: () =>
      data(client.POST("/v1/api_keys/{id}/rotate", { ...params, body: { grace_seconds: DAY_S } })),
    onSuccess: ({ key }) => {
      setOpen(null);
      onShown(key);
      void again();
    },
  });
  const end = useMutation({
    mutationFn: () => data(client.DELETE("/v1/api_keys/{id}", params)),
    onSuccess: () => {
      setOpen(null);
      say({ title: `${of.name} was revoked` });
      void again();
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
      <td className="mid">
        {of.expires_at === null ? (
          <span className="dim">never</span>
        ) : (
          <Until at={of.expires_at * 1_000} />
        )}
        {of.old_key_until !== null && (
          <span className="small paused-text">
            {" "}
            the old key <Until at={of.old_key_until * 1_000} />
          </span>
        )}
      </td>
      <td className="dim is-right">
        <When at={of.created_at * 1_000} />
      </td>
      <td className="is-right">
        <Menu
          label={`Actions for ${of.name}`}
          trigger={<IconButton icon={Ellipsis} size="sm" label={`Actions for ${of.name}`} />}
        >
          <MenuItem icon={RefreshCw} onSelect={() => setOpen("rotate")}>
            Rotate…
          </MenuItem>
          <MenuLine />
          <MenuItem icon={Trash2} danger onSelect={() => setOpen("end")}>
            Revoke…
          </MenuItem>
        </Menu>

        <Confirm
          open={open === "rotate"}
          onClose={() => setOpen(null)}
          title={`Rotate “${of.name}”?`}
          act="Rotate key"
          look="primary"
          keep="Cancel"
          busy={rotate.isPending && "Rotating…"}
          error={rotate.error === null ? undefined : sentence(rotate.error)}
          onConfirm={() => rotate.mutate()}
        >
          <p>A new key replaces it. The old one works for another 24 hours.</p>
        </Confirm>
        <Confirm
          open={open === "end"}
          onClose={() => setOpen(null)}
          title={`Revoke “${of.name}”?`}
          act="Revoke key"
          busy={end.isPending && "Revoking…"}
          error={end.error === null ? undefined : sentence(end.error)}
          onConfirm={() => end.mutate()}
        >
          <p>Requests with it are rejected at once, and streams that it opened are closed.</p>
        </Confirm>
      </td>
    </tr>
  );
}

const LIFETIMES = [
  { value: "30", label: "in 30 days" },
  { value: "90", label: "in 90 days" },
  { value: "365", label: "in a year" },
  { value: "never", label: "never" },
];

function Make({ onClose, onMade }: { onClose: () => void; onMade: (key: string) => void }) {
  const queries = useQueryClient();
  const [name, setName, isTyped] = useKeptText("dialog.key");
  const [scopes, setScopes] = useState<Scopes>(["deploy"]);
  const [days, setDays] = useState("90");
  const make = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/api_keys", {
          body: {
            name: name.trim(),
            scopes: [...scopes],
            ...(days === "never"
              ? {}
              : { expires_at: Math.floor(Date.now() / 1_000) + Number(days) * DAY_S }),
          },
        }),
      ),
    onSuccess: ({ key }) => {
      void queries.invalidateQueries({ queryKey: ["api-keys"] });
      onMade(key);
    },
  });
  return (
    <FormDialog
      title="New API key"
      act="Create key"
      busy="Creating…"
      mutation={make}
      typed={isTyped}
      refused={scopes.length === 0 ? "Choose at least one permission first." : undefined}
      onClose={onClose}
    >
      <Field
        name="name"
        label="Name"
        hint="What it is for, such as “ci” or “laptop”."
        optional={false}
      >
        {(control) => (
          <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
        )}
      </Field>
      <ScopeChoice value={scopes} onChange={setScopes} />
      <Field name="expires_at" label="Expires">
        {(control) => <Select {...control} value={days} onChange={setDays} choices={LIFETIMES} />}
      </Field>
    </FormDialog>
  );
}
