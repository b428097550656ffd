/** Form that connects an account on the provider's page, in a window of its own. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ExternalLink } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { fieldsOf } from "~/api/apps";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { accountQuery } from "~/api/queries";
import type { App } from "~/api/schema";
import type { Connected } from "~/shell/connect";
import { Form } from "~/shell/form";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { CloseDialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { Glyph } from "~/ui/status";
import { say } from "~/ui/toast";
import { worded } from "~/ui/worded";
import { AppFields, givenOf, type Typed } from "./app-fields";

const ASK_MS = 2_000;

/** An account by the provider's page, in a window of its own. */
export function ByProvider({
  app,
  accountId,
  typed,
  onType,
  onConnected,
  onClient,
}: {
  app: App;
  accountId: string | undefined;
  typed: Typed;
  onType: (typed: Typed) => void;
  onConnected: (account: Connected) => void;
  onClient: () => void;
}) {
  const queries = useQueryClient();
  const [blocked, setBlocked] = useState<string | null>(null);
  const fields = fieldsOf(app.custom_fields_json);
  const begin = useMutation({
    mutationFn: async (popup: Window | null) => {
      const name = typed.name.trim();
      const credentials = givenOf(typed.values);
      const link = await data(
        client.POST("/v1/accounts/connect", {
          body: {
            app: app.name_slug,
            ...(name === "" ? {} : { name }),
            ...(accountId === undefined ? {} : { account_id: accountId }),
            ...(Object.keys(credentials).length === 0 ? {} : { credentials }),
          },
        }),
      ).catch((error: unknown) => {
        popup?.close();
        throw error;
      });
      const url = link.connect_url ?? "";
      if (popup === null) setBlocked(url);
      else popup.location.href = url;
      return link.id;
    },
  });
  const { data: connection, error: unread } = useQuery({
    queryKey: ["connection", begin.data],
    queryFn: ({ signal }) =>
      data(
        client.GET("/v1/accounts/connect/{id}", {
          params: { path: { id: begin.data ?? "" } },
          signal,
        }),
      ),
    enabled: begin.data !== undefined,
    refetchInterval: ({ state }) =>
      state.data === undefined || state.data.status === "waiting" ? ASK_MS : false,
    refetchOnWindowFocus: "always",
  });
  const waits = begin.isSuccess && (connection?.status ?? "waiting") === "waiting";
  const came = connection?.status === "connected" ? connection.account_id : null;
  const take = useRef(onConnected);
  take.current = onConnected;
  useEffect(() => {
    if (came === null) return;
    void queries.invalidateQueries({ queryKey: ["accounts"] });
    queries.fetchQuery(accountQuery(came)).then(
      (account) => {
        say({ title: `${account.name} is connected`, shape: "succeeded" });
        take.current(account);
      },
      // It is connected all the same, and its name is read with the list.
      () => take.current({ id: came, name: app.name }),
    );
  }, [came, queries, app.name]);

  return (
    <Form
      error={begin.error}
      onSubmit={() => {
        // Opened at the press itself: a window that is opened later is blocked.
        begin.mutate(window.open("about:blank", "_blank", "popup,width=560,height=720"));
      }}
      foot={
        <>
          <Button look="quiet" onClick={onClient}>
            Change the OAuth client…
          </Button>
          <CloseDialog />
          <Button
            look="primary"
            type="submit"
            icon={ExternalLink}
            busy={begin.isPending && "Opening…"}
          >
            {waits ? `Open ${app.name} again` : `Open ${app.name}`}
          </Button>
        </>
      }
    >
      <p className="mid">
        {app.name} opens in a new window and asks for your consent. You return here afterwards.
      </p>
      {accountId === undefined && (
        <Field name="name" label="Name" hint="If empty, the name that the provider gives.">
          {(control) => (
            <Input
              {...control}
              value={typed.name}
              onChange={(event) => onType({ ...typed, name: event.target.value })}
            />
          )}
        </Field>
      )}
      <AppFields
        fields={fields}
        kept={accountId !== undefined}
        values={typed.values}
        onChange={(values) => onType({ ...typed, values })}
      />
      {blocked !== null && (
        <p>
          The browser blocked the window.{" "}
          <a className="link" href={blocked} target="_blank" rel="noreferrer">
            Open {app.name} here
          </a>
          ; this page then continues by itself.
        </p>
      )}
      {connection?.status === "failed" && (
        <Banner kind="failed" role="alert" title={`${app.name} was not connected`}>
          {connection.problem ?? "The provider gave no reason."}
        </Banner>
      )}
      {unread !== null && waits && (
        <p role="alert" className="failed-text">
          {worded(sentence(unread))}
        </p>
      )}
      {waits && (
        <p className="connect-wait" role="status">
          <Glyph status="running" />
          Waiting for {app.name}
        </p>
      )}
    </Form>
  );
}
