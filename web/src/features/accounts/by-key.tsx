/** Form that connects an account by the values of its app's fields. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { fieldsOf } from "~/api/apps";
import { client, data } from "~/api/client";
import type { App } from "~/api/schema";
import type { Connected } from "~/shell/connect";
import { Form } from "~/shell/form";
import { Button } from "~/ui/button";
import { CloseDialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { say } from "~/ui/toast";
import { AppFields, givenOf, type Typed } from "./app-fields";

/** An account by the values of the app's fields. */
export function ByKey({
  app,
  accountId,
  typed,
  onType,
  onConnected,
}: {
  app: App;
  accountId: string | undefined;
  typed: Typed;
  onType: (typed: Typed) => void;
  onConnected: (account: Connected) => void;
}) {
  const queries = useQueryClient();
  const fields = fieldsOf(app.custom_fields_json);
  const credentials = givenOf(typed.values);
  const save = useMutation({
    mutationFn: () => {
      const name = typed.name.trim();
      return accountId === undefined
        ? data(
            client.POST("/v1/accounts", {
              body: { app: app.name_slug, ...(name === "" ? {} : { name }), credentials },
            }),
          )
        : data(
            client.PUT("/v1/accounts/{id}", {
              params: { path: { id: accountId } },
              body: { credentials },
            }),
          );
    },
    onSuccess: (account) => {
      void queries.invalidateQueries({ queryKey: ["accounts"] });
      say({
        title: `${account.name} is connected`,
        shape: "succeeded",
        ...(account.warnings === undefined || account.warnings.length === 0
          ? {}
          : { about: account.warnings.join(" ") }),
      });
      onConnected(account);
    },
  });
  const first = fields[0];
  const check = () =>
    first !== undefined && accountId !== undefined && Object.keys(credentials).length === 0
      ? ([
          `credentials.${first.name}`,
          "Fill in at least one value. Empty fields keep their stored values.",
        ] as const)
      : undefined;
  return (
    <Form
      error={save.error}
      check={check}
      onSubmit={() => {
        if (!save.isPending) save.mutate();
      }}
      foot={
        <>
          <CloseDialog />
          <Button look="primary" type="submit" busy={save.isPending && "Connecting…"}>
            Connect
          </Button>
        </>
      }
    >
      {accountId === undefined && (
        <Field name="name" label="Name" hint={`The name shown here, such as “${app.name}, team”.`}>
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
      {fields.length === 0 && (
        <p className="mid">
          {app.name} needs no credentials. The name is only used to select the account.
        </p>
      )}
      <p className="small dim">
        Stored encrypted. Code receives only the credentials of the accounts selected in its props.
      </p>
    </Form>
  );
}
