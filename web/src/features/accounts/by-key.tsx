/** Form that connects an account by the values of its app's fields. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { fieldsOf } from "~/api/apps";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { App } from "~/api/schema";
import type { Connected } from "~/shell/connect";
import { Button } from "~/ui/button";
import { CloseDialog } from "~/ui/dialog";
import { Field, Input, Password } from "~/ui/field";
import { say } from "~/ui/toast";

/** An account by the values of the app's fields. */
export function ByKey({
  app,
  accountId,
  onConnected,
}: {
  app: App;
  accountId: string | undefined;
  onConnected: (account: Connected) => void;
}) {
  const queries = useQueryClient();
  const [name, setName] = useState("");
  const [values, setValues] = useState<Record<string, string>>({});
  const fields = fieldsOf(app.custom_fields_json);
  const save = useMutation({
    mutationFn: () => {
      const credentials = Object.fromEntries(
        Object.entries(values).filter(([, value]) => value !== ""),
      );
      const named = name.trim() === "" ? {} : { name: name.trim() };
      return accountId === undefined
        ? data(
            client.POST("/v1/accounts", {
              body: { app: app.name_slug, ...named, credentials },
            }),
          )
        : data(
            client.PUT("/v1/accounts/{id}", {
              params: { path: { id: accountId } },
              body: { ...named, credentials },
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
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        save.mutate();
      }}
    >
      <div className="dialog-body form-grid">
        <Field label="Name" hint={`How the account is called here, such as “${app.name}, team”.`}>
          {(control) => (
            <Input {...control} value={name} onChange={(event) => setName(event.target.value)} />
          )}
        </Field>
        {fields.map((field) => (
          <Field
            key={field.name}
            label={
              <>
                {field.label}
                {field.optional && <span className="optional">optional</span>}
              </>
            }
            optional={field.optional}
            hint={field.description}
          >
            {(control) => {
              const shared = {
                ...control,
                autoComplete: "off",
                placeholder: field.default ?? "",
                value: values[field.name] ?? "",
                onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
                  setValues({ ...values, [field.name]: event.target.value }),
              };
              return field.secret ? <Password {...shared} /> : <Input {...shared} />;
            }}
          </Field>
        ))}
        {fields.length === 0 && (
          <p className="mid">{app.name} needs no key: the account is a name to choose it by.</p>
        )}
        <p className="small dim">
          Kept encrypted. Code gets the values of the accounts that its own props name, and of no
          others.
        </p>
        {save.error !== null && (
          <p role="alert" className="failed-text">
            {sentence(save.error)}
          </p>
        )}
      </div>
      <footer className="dialog-foot">
        <CloseDialog />
        <Button look="primary" type="submit" busy={save.isPending && "Connecting…"}>
          Connect
        </Button>
      </footer>
    </form>
  );
}
