/** The form of props: one for sources, triggers and steps. Order and names are the component's. */

import "./prop-form.css";
import { type ReactNode, useId } from "react";
import type { JsonObject } from "~/api/json";
import { isRequired, type PropDef } from "~/api/props";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Message } from "~/ui/field";
import { bytes } from "~/ui/format";
import { Markdown } from "~/ui/markdown";
import { AsJson } from "./as-json";
import { Control } from "./control";
import { fieldId } from "./field-id";
import type { PropForm as Form } from "./use-prop-form";
import {
  bytesOf,
  isExpression,
  isJson,
  isMadeByServer,
  read,
  takesExpression,
  VALUE_BYTES_MAX,
} from "./values";

/** From here on the size of a value is said. */
const COUNT_FROM = 0.75 * VALUE_BYTES_MAX;

const GROUPS_MOST = 4;

type Group = { head: string; props: PropDef[] };

/** Neighbours of a kind stand under one heading; the order is the component's. */
function groupsOf(props: readonly PropDef[]): Group[] {
  const groups: Group[] = [];
  for (const prop of props) {
    const head = headOf(prop) ?? groups.at(-1)?.head ?? "Settings";
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
}: {
  form: Form;
  stored?: JsonObject;
  /** The value of a text with expressions, where values may be such. */
  renderValue?: ((text: string) => ReactNode) | undefined;
}) {
  const shown = form.props.filter((prop) => !prop.hidden);
  const groups = groupsOf(shown);
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
          Asking the component which props it needs…
        </p>
      )}
      {form.reloadProblem !== undefined && (
        <div className="prop-group-error">
          <Banner
            kind="failed"
            role="alert"
            title="The component could not say which props it needs"
            act={
              <Button size="sm" onClick={form.reloadAgain}>
                Ask again
              </Button>
            }
          >
            {form.reloadProblem}
          </Banner>
        </div>
      )}
    </div>
  );
}

function PropRow({
  form,
  prop,
  stored,
  renderValue,
}: {
  form: Form;
  prop: PropDef;
  stored: unknown;
  renderValue: ((text: string) => ReactNode) | undefined;
}) {
  const id = useId();
  const draft = form.drafts[prop.name];
  const expression = form.expressions && draft?.kind === "text" && isExpression(draft);
  const problem = form.problemOf(prop);
  const control = {
    id,
    "aria-describedby":
      problem !== undefined || prop.description !== undefined ? `${id}-m` : undefined,
    "aria-invalid": problem === undefined ? undefined : (true as const),
    "aria-required": isRequired(prop) ? (true as const) : undefined,
  };
  // Whether an app needs an account is known to the server alone: what the code calls optional is.
  const optional =
    prop.type === "app"
      ? prop.optional
      : !isRequired(prop) && !isMadeByServer(prop) && prop.fixed === undefined;
  return (
    <div className="prop" id={fieldId(prop.name)}>
      <div className="prop-label">
        <span>
          <label htmlFor={id}>{prop.label}</label>
          {optional && <span className="optional">optional</span>}
        </span>
        <span className="prop-type mono">
          {prop.type}
          {prop.secret && ", secret"}
        </span>
        {form.expressions && takesExpression(prop) && (
          <ExpressionSwitch form={form} prop={prop} on={expression} />
        )}
      </div>
      <div className="prop-body">
        <Control form={form} prop={prop} control={control} stored={stored} />
        {expression && draft?.kind === "text" && renderValue?.(draft.text)}
        <div id={`${id}-m`}>
          {problem !== undefined && <Message error={problem} />}
          {prop.description !== undefined && (
            <div className="prop-hint">
              <Markdown text={prop.description} />
            </div>
          )}
        </div>
        <Size form={form} prop={prop} />
      </div>
    </div>
  );
}

/** From a field that chooses to a text that is evaluated, and back. */
function ExpressionSwitch({ form, prop, on }: { form: Form; prop: PropDef; on: boolean }) {
  return (
    <button
      type="button"
      className="link small"
      onClick={() =>
        form.choose(prop.name, on ? undefined : { kind: "text", text: "{{steps.trigger.event}}" })
      }
    >
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
        <Banner kind={alertKinds[alert.kind] ?? "note"} title={<Markdown text={alert.content} />} />
      </div>
    </div>
  );
}
