/** The control of a prop, by its type. A type that is not known is typed as text. */

import { Database, Webhook } from "lucide-react";
import { useState } from "react";
import { isObject, textOf } from "~/api/json";
import type { PropDef } from "~/api/props";
import { Button } from "~/ui/button";
import { CompletedText } from "~/ui/code/completed-text";
import { Editor } from "~/ui/code/editor";
import { Copy } from "~/ui/copy";
import { type ControlProps, Switch, TextArea } from "~/ui/field";
import { AccountField } from "./account-field";
import { ItemsField } from "./items-field";
import { OptionsField } from "./options-field";
import { DataStoreField, FileStoreField } from "./store-field";
import { TimerField } from "./timer-field";
import type { PropForm } from "./use-prop-form";
import {
  hasOptions,
  isExpression,
  isInOtherField,
  isJson,
  isMadeByServer,
  rangeText,
} from "./values";

type Props = {
  form: PropForm;
  prop: PropDef;
  control: ControlProps;
  /** What is stored: interfaces show their address. */
  stored: unknown;
};

export function Control({ form, prop, control, stored }: Props) {
  if (prop.fixed !== undefined) {
    return <output className="input is-made mono">{JSON.stringify(prop.fixed)}</output>;
  }
  if (isMadeByServer(prop)) return <Made prop={prop} stored={stored} />;
  if (form.expressions && isInOtherField(prop, form.drafts[prop.name])) {
    return <TextField form={form} prop={{ ...prop, type: "string" }} control={control} />;
  }
  if (prop.type === "$.interface.timer") {
    return <TimerField form={form} prop={prop} control={control} />;
  }
  if (prop.type === "app" || prop.type === "app[]") {
    return <AccountField form={form} prop={prop} control={control} />;
  }
  if (prop.type === "data_store" || prop.type === "datastore") {
    return <DataStoreField form={form} prop={prop} control={control} />;
  }
  if (prop.type === "dir") return <FileStoreField form={form} prop={prop} control={control} />;
  if (prop.secret) return <SecretField form={form} prop={prop} control={control} />;
  if (hasOptions(prop)) return <OptionsField form={form} prop={prop} control={control} />;
  if (prop.type === "boolean") return <BooleanField form={form} prop={prop} control={control} />;
  if (prop.type.endsWith("[]")) return <ItemsField form={form} prop={prop} control={control} />;
  if (isJson(prop)) return <JsonField form={form} prop={prop} control={control} />;
  return <TextField form={form} prop={prop} control={control} />;
}

type FieldProps = Omit<Props, "stored">;

function textIn(form: PropForm, prop: PropDef): string {
  const draft = form.drafts[prop.name];
  if (draft?.kind === "text") return draft.text;
  if (draft?.kind !== "value" || draft.value === undefined) return "";
  return typeof draft.value === "string" ? draft.value : JSON.stringify(draft.value);
}

function TextField({ form, prop, control }: FieldProps) {
  const text = textIn(form, prop);
  const shared = {
    ...control,
    autoComplete: "off",
    disabled: prop.disabled,
    value: text,
    onBlur: () => form.commit(prop.name),
  };
  const set = (next: string) => form.set(prop.name, { kind: "text", text: next });
  const allowed = prop.type === "integer" ? rangeText(prop) : undefined;
  if (prop.type === "integer" && form.known === undefined) {
    return (
      <div className="number-row">
        <input
          {...shared}
          className="input"
          inputMode="numeric"
          onChange={(event) => set(event.target.value)}
        />
        {allowed !== undefined && <span className="dim">{allowed}</span>}
      </div>
    );
  }
  const mono = prop.type === "sql" || (form.expressions && isExpression(form.drafts[prop.name]));
  const line = { ...shared, className: "is-line", rows: 1, mono };
  if (form.known !== undefined) {
    return (
      <>
        <CompletedText {...line} known={form.known} onText={set} />
        {allowed !== undefined && <p className="small dim">{allowed}</p>}
      </>
    );
  }
  return <TextArea {...line} onChange={(event) => set(event.target.value)} />;
}

function BooleanField({ form, prop, control }: FieldProps) {
  const draft = form.drafts[prop.name];
  const value = draft?.kind === "value" ? draft.value : undefined;
  return (
    <div className="boolean-row">
      <Switch
        id={control.id}
        aria-describedby={control["aria-describedby"]}
        checked={value === true}
        disabled={prop.disabled}
        onChange={(checked) => form.choose(prop.name, { kind: "value", value: checked })}
      />
      {value === undefined ? (
        <span className="dim">Not set</span>
      ) : (
        <>
          <span className="mid">{value === true ? "Yes" : "No"}</span>
          {prop.optional && (
            <button
              type="button"
              className="link small"
              onClick={() => form.choose(prop.name, undefined)}
            >
              Clear
            </button>
          )}
        </>
      )}
    </div>
  );
}

function JsonField({ form, prop, control }: FieldProps) {
  const problem = form.problemOf(prop);
  const line = /^Line (\d+),/.exec(problem ?? "")?.[1];
  return (
    <Editor
      language="json"
      label={prop.label}
      describedBy={control["aria-describedby"]}
      invalid={control["aria-invalid"]}
      wrongLine={line === undefined ? undefined : Number(line)}
      known={form.known}
      value={textIn(form, prop)}
      onChange={(text) => form.set(prop.name, text === "" ? undefined : { kind: "text", text })}
      onBlur={() => form.commit(prop.name)}
    />
  );
}

/** Write-only: what is set cannot be read back, only replaced. */
function SecretField({ form, prop, control }: FieldProps) {
  // Until the form is saved or set back.
  const [replaces, setReplaces] = useState<number>();
  if (form.sealed.includes(prop.name) && replaces !== form.saves) {
    return (
      <div className="account">
        <output className="input is-made" id={control.id}>
          Set. It cannot be read back.
        </output>
        <Button size="lg" onClick={() => setReplaces(form.saves)}>
          Replace…
        </Button>
      </div>
    );
  }
  return (
    <input
      {...control}
      className="input"
      type="password"
      autoComplete="new-password"
      value={textIn(form, prop)}
      onChange={(event) => form.set(prop.name, { kind: "text", text: event.target.value })}
      onBlur={() => form.commit(prop.name)}
    />
  );
}

const made: Record<string, { icon: typeof Webhook; says: string }> = {
  "$.interface.http": { icon: Webhook, says: "Gets its URL when it is deployed" },
  "$.interface.apphook": { icon: Webhook, says: "Receives events from the app" },
  "$.service.db": { icon: Database, says: "Its own data store" },
};

function Made({ prop, stored }: { prop: PropDef; stored: unknown }) {
  const { icon: Icon, says } = made[prop.type] ?? { icon: Database, says: "Created by the server" };
  const endpoint = isObject(stored) ? textOf(stored.endpoint_url) : undefined;
  return (
    <output className="input is-made">
      <Icon className="icon is-sm" aria-hidden="true" />
      {endpoint === undefined ? (
        says
      ) : (
        <>
          <span className="mono cut grow">{endpoint}</span>
          <Copy text={endpoint} label="Copy URL" />
        </>
      )}
    </output>
  );
}
