/** Form of the organization's own OAuth client at a provider. */

import { useQueryClient } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { appQuery } from "~/api/queries";
import type { App } from "~/api/schema";
import { Form } from "~/shell/form";
import { ChangedMeanwhile } from "~/shell/typed-form";
import { useTypedForm } from "~/shell/use-typed-form";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { CloseDialog } from "~/ui/dialog";
import { Field, Input, Password } from "~/ui/field";
import { changedClient, fieldsOfClient } from "./client-fields";

const FIELDS = [
  ["client_id", "Client ID", ""],
  ["client_secret", "Client secret", ""],
  ["authorize_url", "Authorization URL", "https://…/oauth/authorize"],
  ["token_url", "Token URL", "https://…/oauth/token"],
  ["scopes", "Scopes, separated by spaces", ""],
] as const;

/** The organization's own client at the provider, which an app by OAuth needs first. */
export function OauthClient({
  app,
  onSaved,
  onBack,
}: {
  app: App;
  onSaved: () => void;
  /** Where the form stands in the place of another. */
  onBack?: () => void;
}) {
  const queries = useQueryClient();
  const stored = app.oauth;
  const form = useTypedForm<App>({
    // Nothing of it is kept in the browser: one field is a secret.
    keepAs: undefined,
    record: app,
    textsOf: ({ oauth }) => fieldsOfClient(oauth),
    send: async (check) => {
      const params = { path: { id: app.name_slug } };
      const now = await data(client.GET("/v1/apps/{id}", { params }));
      const oauth = changedClient(now.oauth, check(now));
      return data(client.PUT("/v1/apps/{id}", { params, body: { oauth } }));
    },
    onRecord: (read) => queries.setQueryData(appQuery(app.name_slug).queryKey, read),
    onSaved,
  });
  const callback = `${window.location.origin}/oauth/callback`;
  return (
    <Form
      error={form.error}
      onSubmit={() => {
        if (!form.isPending) form.mutate();
      }}
      foot={
        <>
          {onBack !== undefined && (
            <Button look="quiet" onClick={onBack}>
              Back
            </Button>
          )}
          <CloseDialog />
          <Button look="primary" type="submit" busy={form.isPending && "Saving…"}>
            Save client
          </Button>
        </>
      }
    >
      <p className="mid">
        {app.name} requires an OAuth client of your own. Register one there with this redirect URL,
        then enter what {app.name} gives you.
      </p>
      <div className="copy-line">
        <code className="mono">{callback}</code>
        <Copy text={callback} label="Copy redirect URL" />
      </div>
      {FIELDS.map(([name, label, placeholder]) => (
        <Field
          key={name}
          name={`oauth.${name}`}
          label={label}
          optional={name === "scopes" || (name === "client_secret" && stored !== null)}
          hint={
            name === "client_secret" && stored !== null
              ? "A secret is stored and is kept if this is empty. Enter it again when the client ID or the token URL changes."
              : undefined
          }
        >
          {(control) => {
            const shared = {
              ...control,
              autoComplete: "off",
              placeholder,
              value: form.textOf(name),
              onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
                form.set(name, event.target.value),
            };
            return name === "client_secret" ? <Password {...shared} /> : <Input {...shared} />;
          }}
        </Field>
      ))}
      <ChangedMeanwhile
        form={form}
        record={app.name_slug}
        labelOf={(name) => FIELDS.find(([each]) => each === name)?.[1] ?? name}
        fieldOf={() => "oauth"}
      />
    </Form>
  );
}
