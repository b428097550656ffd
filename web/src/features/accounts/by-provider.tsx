import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { useEffect, useState } from "react";
import { fieldsOf } from "~/api/apps";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { accountsOf } from "~/api/queries";
import type { Account, App } from "~/api/schema";
import type { Connected } from "~/shell/connect";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { Glyph } from "~/ui/status";
import { say } from "~/ui/toast";

const ASK_MS = 2_000;

/** Whether the account came, or came back, since the provider's page was opened. */
function isNew(account: Account, before: readonly Account[]): boolean {
  const old = before.find(({ id }) => id === account.id);
  return old === undefined || (account.healthy && account.updated_at > old.updated_at);
}

/** An account by the provider's page, in a window of its own. */
export function ByProvider({
  app,
  accountId,
  onConnected,
  onClient,
}: {
  app: App;
  accountId: string | undefined;
  onConnected: (account: Connected) => void;
  onClient: () => void;
}) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const [before, setBefore] = useState<readonly Account[] | null>(null);
  const [blocked, setBlocked] = useState<string | null>(null);
  const fields = fieldsOf(app.custom_fields_json);
  const begin = useMutation({
    mutationFn: async (popup: Window | null) => {
      const known = await queries.fetchQuery({ ...accountsOf(app.name_slug), staleTime: 0 });
      const link = await data(
        client.POST("/v1/accounts/connect", {
          body: {
            app: app.name_slug,
            ...(name.trim() === "" ? {} : { name: name.trim() }),
            ...(accountId === undefined ? {} : { account_id: accountId }),
            ...(Object.keys(values).length === 0 ? {} : { credentials: values }),
          },
        }),
      ).catch((error: unknown) => {
        popup?.close();
        throw error;
      });
      setBefore(known);
      if (popup === null) setBlocked(link.connect_url);
      else popup.location.href = link.connect_url;
    },
  });
  const waits = begin.isSuccess && before !== null;
  const { data: accounts } = useQuery({
    ...accountsOf(app.name_slug),
    enabled: waits,
    refetchInterval: ASK_MS,
    refetchOnWindowFocus: "always",
  });
  const came = waits ? accounts?.find((account) => isNew(account, before)) : undefined;
  useEffect(() => {
    if (came === undefined) return;
    say({ title: `${came.name} is connected`, shape: "succeeded" });
    onConnected(came);
  }, [came, onConnected]);

  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        // Opened at the press itself: a window that is opened later is blocked.
        begin.mutate(window.open("about:blank", "_blank", "popup,width=560,height=720"));
      }}
    >
      <div className="dialog-body form-grid">
        <p className="mid">
          {app.name} asks you in a window of its own, and sends you back here when you agree.
        </p>
        {accountId === undefined && (
          <Field label="Name" hint="Empty: as the provider calls the account.">
            {(control) => (
              <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
            )}
          </Field>
        )}
        {fields.map((field) => (
          <Field key={field.name} label={field.label} hint={field.description}>
            {(control) => (
              <Input
                {...control}
                value={values[field.name] ?? ""}
                onChange={(event) => setValues({ ...values, [field.name]: event.target.value })}
              />
            )}
          </Field>
        ))}
        {blocked !== null && (
          <p>
            The browser blocked the window.{" "}
            <a className="link" href={blocked} target="_blank" rel="noreferrer">
              Open {app.name} here
            </a>
            ; this page goes on by itself.
          </p>
        )}
        {waits && (
          <p className="connect-wait" role="status">
            <Glyph status="running" />
            Waits for {app.name}
          </p>
        )}
        {begin.error !== null && (
          <p role="alert" className="failed-text">
            {sentence(begin.error)}
          </p>
        )}
      </div>
      <footer className="dialog-foot">
        <Button look="quiet" onClick={onClient}>
          Change the OAuth client…
        </Button>
        <Button
          look="primary"
          type="submit"
          icon={ExternalLink}
          busy={begin.isPending && "Opening…"}
        >
          {waits ? `Open ${app.name} again` : `Open ${app.name}`}
        </Button>
      </footer>
    </form>
  );
}
