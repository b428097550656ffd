/** Fields of an account's values, as its app has them. */

import type { AppField } from "~/api/apps";
import { Field, Input, Password } from "~/ui/field";

export type Values = Record<string, string>;

/** What is filled in to connect an account. */
export type Typed = { name: string; values: Values };

/** What is filled in: an empty field is a value that is not given. */
export const givenOf = (values: Values): Values =>
  Object.fromEntries(Object.entries(values).filter(([, value]) => value !== ""));

/** `kept`: an account has values, which stay where nothing is filled in. */
export function AppFields({
  fields,
  kept,
  values,
  onChange,
}: {
  fields: readonly AppField[];
  kept: boolean;
  values: Values;
  onChange: (values: Values) => void;
}) {
  return fields.map((field) => {
    const needed = !field.optional && field.default === undefined && !kept;
    return (
      <Field
        key={field.name}
        name={`credentials.${field.name}`}
        label={
          <>
            {field.label}
            {field.optional && <span className="optional">optional</span>}
          </>
        }
        optional={!needed}
        hint={field.description}
      >
        {(control) => {
          const shared = {
            ...control,
            autoComplete: "off",
            placeholder: field.default ?? "",
            value: values[field.name] ?? "",
            onChange: (event: React.ChangeEvent<HTMLInputElement>) =>
              onChange({ ...values, [field.name]: event.target.value }),
          };
          return field.secret ? <Password {...shared} /> : <Input {...shared} />;
        }}
      </Field>
    );
  });
}
