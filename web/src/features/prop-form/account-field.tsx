/** Field of an app prop: the chosen account, its health, and a button that connects another. */

import { useQuery } from "@tanstack/react-query";
import type { FormTarget } from "~/api/components";
import { isObject } from "~/api/json";
import type { PropDef } from "~/api/props";
import { accountsOf, accountUsesQuery, appQuery } from "~/api/queries";
import type { Account } from "~/api/schema";
import { useConnect } from "~/shell/connect";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { Combobox, type Item } from "~/ui/combobox";
import { type ControlProps, Message } from "~/ui/field";
import { count } from "~/ui/format";
import { Select } from "~/ui/select";
import { Glyph } from "~/ui/status";
import type { PropForm } from "./use-prop-form";

type Props = { form: PropForm; prop: PropDef; control: ControlProps };

function idOf(value: unknown): string | null {
  if (typeof value === "string") return value;
  return isObject(value) && typeof value.authProvisionId === "string"
    ? value.authProvisionId
    : null;
}

const stored = (id: string) => ({ authProvisionId: id });

/** An account of the app: which, whether it is healthy, and connecting one here. */
export function AccountField({ form, prop, control }: Props) {
  const app = prop.app ?? "";
  const { data: accounts = [], isPending, isSuccess, refetch } = useQuery(accountsOf(app));
  const { data: record } = useQuery(appQuery(app));
  const connect = useConnect();
  const refused = useRefusal("full");
  const name = record?.name ?? app;
  const draft = form.drafts[prop.name];
  const value = draft?.kind === "value" ? draft.value : undefined;
  const many = prop.type === "app[]";
  const chosen = many ? null : idOf(value);
  const account = accounts.find(({ id }) => id === chosen);

  const onConnected = async ({ id }: { id: string }) => {
    await refetch();
    const before = Array.isArray(value) ? value : [];
    const next = many ? [...before, stored(id)] : stored(id);
    form.choose(prop.name, { kind: "value", value: next });
  };
  const unhealthy = account !== undefined && !account.healthy;
  const isGone = chosen !== null && account === undefined && isSuccess;
  return (
    <>
      <div className="account">
        {many ? (
          <Combobox
            {...control}
            multiple
            items={accounts.map(itemOf)}
            value={(Array.isArray(value) ? value : []).flatMap((each) => {
              const id = idOf(each);
              const found = accounts.find((account) => account.id === id);
              return id === null
                ? []
                : [found === undefined ? { key: id, label: id } : itemOf(found)];
            })}
            onChange={(items) =>
              form.choose(
                prop.name,
                items.length === 0
                  ? undefined
                  : { kind: "value", value: items.map(({ key }) => stored(key)) },
              )
            }
          />
        ) : (
          <Select
            {...control}
            className={unhealthy ? "is-warn" : ""}
            value={chosen}
            placeholder={
              isPending
                ? "Loading accounts"
                : accounts.length === 0
                  ? "No accounts yet"
                  : "Choose an account"
            }
            disabled={accounts.length === 0}
            onClear={prop.optional ? () => form.choose(prop.name, undefined) : undefined}
            onChange={(id) => form.choose(prop.name, { kind: "value", value: stored(id) })}
            choices={accounts.map(({ id, name, healthy }) => ({
              value: id,
              label: name,
              note: healthy ? (
                <span className="row">
                  <Glyph status="succeeded" small /> healthy
                </span>
              ) : (
                "needs to be reconnected"
              ),
            }))}
          />
        )}
        <Button
          size="lg"
          refused={refused}
          onClick={() =>
            connect({
              app,
              ...(unhealthy ? { account } : {}),
              onConnected: (connected) => void onConnected(connected),
            })
          }
        >
          {unhealthy
            ? "Reconnect…"
            : accounts.length === 0
              ? `Connect ${name}…`
              : "Connect another…"}
        </Button>
      </div>
      {account !== undefined && <Uses account={account.id} but={form.target} />}
      {account !== undefined && <Health account={account} />}
      {isGone && (
        <Message error="The selected account no longer exists. Choose or connect another." />
      )}
    </>
  );
}

/** Why the account cannot be used, or what its provider said last while it still can. */
function Health({ account: { healthy, problem } }: { account: Account }) {
  return healthy ? (
    <Message hint={problem} />
  ) : (
    <Message error={problem ?? "The provider rejects this account’s credentials."} />
  );
}

/** Who else uses the account: a change of it is theirs too. */
function Uses({ account, but }: { account: string; but: FormTarget }) {
  const { data: uses } = useQuery(accountUsesQuery(account));
  const others = (uses ?? []).filter(({ id }) => id !== but);
  if (others.length === 0) return null;
  const names = others.slice(0, USES_SHOWN).map(({ name }) => name);
  const rest = others.length - names.length;
  return (
    <Message
      hint={`Also used by ${names.join(", ")}${rest > 0 ? ` and ${count(rest)} more` : ""}.`}
    />
  );
}

const USES_SHOWN = 3;

function itemOf({ id, name }: { id: string; name: string }): Item {
  return { key: id, label: name };
}
