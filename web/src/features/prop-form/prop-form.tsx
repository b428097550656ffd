/** Form of props of sources, triggers and steps. Order and names are the component's. */

import "./prop-form.css";
import { type ReactNode, useId, useRef } from "react";
import type { JsonObject } from "~/api/json";
import { isRequired, type PropDef } from "~/api/props";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { focusWithin, Message } from "~/ui/field";
import { bytes } from "~/ui/format";
import type { Picker, PickTarget } from "~/ui/json/picker";
import { takesText } from "~/ui/keyboard";
import { Markdown } from "~/ui/markdown";
import { AsJson } from "./as-json";
import { Control } from "./control";
import { fieldId } from "./field-id";
import type { PropForm as Form } from "./use-prop-form";
import {
  bytesOf,
  type Draft,
  hasExpression,
  isExpression,
  isInOtherField,
  isJson,
  isMadeByServer,
  isPlainText,
  read,
  switchesField,
  takesExpression,
  VALUE_BYTES_MAX,
} from "./values";

/** From here on the size of a value is said. */
const COUNT_FROM = 0.75 * VALUE_BYTES_MAX;

const GROUPS_MOST = 4;

type Group = { head: string; props: PropDef[] };

/** Neighbours of a kind stand under one heading; the order is the component's. */
function groupsOf(form: Form, props: readonly PropDef[]): Group[] {
  const groups: Group[] = [];
  for (const prop of props) {
    const by = form.addedBy(prop.name);
    const head =
      by === undefined ? (headOf(prop) ?? groups.at(-1)?.head ?? "Settings") : `Added by ${by}`;
    const last = groups.at(-1);
    if (last?.head === head) last.props.push(prop);
    else groups.push({ head, props: [prop] });
  }
  return groups;
}

/** `undefined` for what goes with its neighbours. */
function headOf(prop: PropDef): string | undefined {
  if (prop.type === "alert") return undefined;
  if (prop.type === "app" || prop.type === "app[]") return "Accounts";
  return prop.type.startsWith("$.") ? "Trigger and state" : "Settings";
}

export function PropForm({
  form,
  stored = {},
  renderValue,
  picker,
}: {
  form: Form;
  stored?: JsonObject;
  /** What a value with expressions in it gives, where values may be such. */
  renderValue?: ((value: unknown) => ReactNode) | undefined;
  /** Where values are picked that go into a field as expressions. */
  picker?: Picker | undefined;
}) {
  const shown = form.props.filter((prop) => !prop.hidden);
  const groups = groupsOf(form, shown);
  const headed = groups.length > 1 && groups.length <= GROUPS_MOST;
  return (
    <div className="props" aria-busy={form.isReloading}>
      {groups.map((group) => (
        // The first prop of a group is nobody else's.
        <section key={group.props[0]?.name} className="props">
          {headed && <h2>{group.head}</h2>}
          {group.props.map((prop) =>
            prop.alert === undefined ? (
              <PropRow
                key={prop.name}
                form={form}
                prop={prop}
                stored={stored[prop.name]}
                renderValue={renderValue}
                picker={picker}
              />
            ) : (
              <AlertRow key={prop.name} alert={prop.alert} />
            ),
          )}
        </section>
      ))}
      <AsJson form={form} />
      {form.isReloading && (
        <p className="small dim" role="status">
          Loading the fields…
        </p>
      )}
      {form.reloadAt === undefined && <ReloadProblem form={form} />}
    </div>
  );
}

function ReloadProblem({ form }: { form: Form }) {
  if (form.reloadProblem === undefined) return null;
  return (
    <div className="prop-group-error">
      <Banner
        kind="failed"
        role="alert"
        title="The fields could not be loaded"
        act={
          <Button size="sm" onClick={form.reloadAgain}>
            Retry
          </Button>
        }
      >
        {form.reloadProblem}
      </Banner>
    </div>
  );
}

function PropRow({
  form,
  prop,
  stored,
  renderValue,
  picker,
}: {
  form: Form;
  prop: PropDef;
  stored: unknown;
  renderValue: ((value: unknown) => ReactNode) | undefined;
  picker: Picker | undefined;
}) {
  const id = useId();
  const typed = useRef<HTMLElement | null>(null);
  const target = usePickTarget(form, prop, typed);
  const picks = form.expressions && takesExpression(prop) ? picker : undefined;
  const result = read(prop, form.drafts[prop.name], form.expressions);
  const expression =
    form.expressions && !prop.secret && "value" in result && hasExpression(result.value);
  const problem = form.problemOf(prop);
  const control = {
    id,
    "aria-describedby":
      problem !== undefined || prop.description !== undefined || takesDefault(form, prop)
        ? `${id}-m`
        : undefined,
    "aria-invalid": problem === undefined ? undefined : (true as const),
    "aria-required": isRequired(prop) ? (true as const) : undefined,
  };
  // Whether an app needs an account is known to the server alone: what the code calls optional is.
  const optional =
    prop.type === "app"
      ? prop.optional
      : !isRequired(prop) && !isMadeByServer(prop) && prop.fixed === undefined;
  return (
    // The focus of the field within is noted, nothing else.
    // biome-ignore lint/a11y/noStaticElementInteractions: it is no control
    <div
      className="prop"
      onFocus={({ target: field }) => {
        if (takesText(field)) typed.current = field;
        picks?.aim(target);
      }}
    >
      <div className="prop-label">
        <span>
          <label id={`${id}-l`} htmlFor={id}>
            {prop.label}
          </label>
          {optional && <span className="optional">optional</span>}
        </span>
        <span className="prop-type mono">
          {prop.type}
          {prop.secret && ", secret"}
        </span>
        <span className="prop-acts">
          {form.expressions && switchesField(prop) && <ExpressionSwitch form={form} prop={prop} />}
          {picks !== undefined && (
            <button
              type="button"
              className="link small"
              aria-describedby={`${id}-l`}
              onClick={() => picks.open(target)}
            >
              Pick data
            </button>
          )}
        </span>
      </div>
      <div className="prop-body" id={fieldId(prop.name)}>
        <Control form={form} prop={prop} control={control} stored={stored} />
        {expression && renderValue?.(result.value)}
        <div id={`${id}-m`}>
          {problem !== undefined && <Message error={problem} />}
          {prop.description !== undefined && (
            <div className="prop-hint">
              <Markdown text={prop.description} />
            </div>
          )}
          {takesDefault(form, prop) && (
            <Message hint={`Without a value, the default ${shortOf(prop.default)} applies.`} />
          )}
        </div>
        <Size form={form} prop={prop} />
        {form.reloadAt === prop.name && <ReloadProblem form={form} />}
      </div>
    </div>
  );
}

const DEFAULT_SHOWN = 60;

/** Whether the field is empty, which the server takes for the default. */
function takesDefault(form: Form, prop: PropDef): boolean {
  const has = prop.default !== undefined && prop.default !== null && prop.fixed === undefined;
  if (!has || prop.secret || isMadeByServer(prop)) return false;
  const result = read(prop, form.drafts[prop.name], form.expressions);
  return "value" in result && result.value === undefined;
}

function shortOf(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return `\`${text.length > DEFAULT_SHOWN ? `${text.slice(0, DEFAULT_SHOWN)}…` : text}\``;
}

/** Puts a picked path into the field: at the cursor of text, in the place of any other value. */
function usePickTarget(
  form: Form,
  prop: PropDef,
  typed: { readonly current: HTMLElement | null },
): PickTarget {
  const now = useRef({ form, prop });
  now.current = { form, prop };
  const put = (path: string) => {
    const { form, prop } = now.current;
    const text = `{{${path}}}`;
    const draft = form.drafts[prop.name];
    const field = typed.current?.isConnected
      ? typed.current
      : document
          .getElementById(fieldId(prop.name))
          ?.querySelector<HTMLElement>("textarea, [contenteditable=true]");
    const written = isJson(prop) && draft?.kind === "text" && draft.text.trim() !== "";
    const goesOn = isPlainText(prop) || isExpression(draft) || draft?.kind === "items" || written;
    if (field == null || !goesOn) {
      form.choose(prop.name, { kind: "text", text });
      focusWithin(fieldId(prop.name));
      return;
    }
    field.focus();
    // As it is typed: the browser can undo it.
    document.execCommand("insertText", false, text);
  };
  return { label: prop.label, put };
}

/** From a field that chooses to a text that is evaluated, and back to what each held. */
function ExpressionSwitch({ form, prop }: { form: Form; prop: PropDef }) {
  const draft = form.drafts[prop.name];
  const on = isInOtherField(prop, draft);
  const other = useRef<Draft | undefined>(undefined);
  const change = () => {
    const first: Draft | undefined = on
      ? undefined
      : { kind: "text", text: "{{steps.trigger.event}}" };
    const next = other.current ?? first;
    other.current = draft;
    form.choose(prop.name, next);
    focusWithin(fieldId(prop.name));
  };
  return (
    <button type="button" className="link small" onClick={change}>
      {on ? "Use a value" : "Use an expression"}
    </button>
  );
}

function Size({ form, prop }: { form: Form; prop: PropDef }) {
  const draft = form.drafts[prop.name];
  if (draft === undefined) return null;
  const result = read(prop, draft, form.expressions);
  const size = bytesOf("value" in result ? result.value : draft.kind === "text" ? draft.text : "");
  if (size < COUNT_FROM && !(isJson(prop) && size > 0)) return null;
  return (
    <p className="small dim num">
      {bytes(size)} of {bytes(VALUE_BYTES_MAX)}
    </p>
  );
}

const alertKinds: Record<string, "failed" | "waits" | "note"> = {
  error: "failed",
  warning: "waits",
};

function AlertRow({ alert }: { alert: { kind: string; content: string } }) {
  return (
    <div className="prop">
      <span />
      <div className="prop-body">
        <Banner kind={alertKinds[alert.kind] ?? "note"}>
          <Markdown text={alert.content} />
        </Banner>
      </div>
    </div>
  );
}
