import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { useEffect, useState } from "react";
import { fieldsOf } from "~/api/apps";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { accountsOf } from "~/api/queries";
import type { App } from "~/api/schema";
import type { Connected } from "~/shell/connect";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { Glyph } from "~/ui/status";
import { say } from "~/ui/toast";

const ASK_MS = 2_000;

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
  const [blocked, setBlocked] = useState<string | null>(null);
  const fields = fieldsOf(app.custom_fields_json);
  const begin = useMutation({
    mutationFn: async (popup: Window | null) => {
      const begun = await data(
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
      const page = begun.connect_url ?? "";
      if (popup === null) setBlocked(page);
      else popup.location.href = page;
      return begun;
    },
  });
  const id = begin.data?.id;
  const { data: connection } = useQuery({
    queryKey: ["connection", id],
    queryFn: () =>
      data(client.GET("/v1/accounts/connect/{id}", { params: { path: { id: id ?? "" } } })),
    enabled: id !== undefined,
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === "waiting" ? ASK_MS : false,
    refetchOnWindowFocus: "always",
  });
  const accountOf = connection?.account_id ?? undefined;
  const { data: came } = useQuery({
    queryKey: ["account", accountOf, "connected"],
    queryFn: () =>
      data(client.GET("/v1/accounts/{id}", { params: { path: { id: accountOf ?? "" } } })),
    enabled: accountOf !== undefined,
  });
  const problem = connection?.status === "failed" ? connection.problem : null;
  const waits = id !== undefined && connection?.status !== "failed";
  useEffect(() => {
    if (came === undefined) return;
    say({ title: `${came.name} is connected`, shape: "succeeded" });
    void queries.invalidateQueries({ queryKey: accountsOf(app.name_slug).queryKey });
    onConnected(came);
  }, [came, onConnected, queries, app.name_slug]);

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
        {problem !== null && (
          <p role="alert" className="failed-text">
            Not connected: {problem}
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
