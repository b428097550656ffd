/** The chosen trigger: its address, its schedule, its source; and adding another one. */

import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Clock, Globe, Plus, Radio, Rocket, Trash2 } from "lucide-react";
import { useState } from "react";
import { isObject, numberOf, textOf } from "~/api/json";
import { propsOf } from "~/api/props";
import { type CommandLine, line } from "~/shell/command-line";
import { useRefusal } from "~/shell/session";
import { ShellBlock } from "~/shell/shell-block";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { Field, Fields, Input, Password } from "~/ui/field";
import { Menu, MenuItem } from "~/ui/menu";
import { Select } from "~/ui/select";
import { triggerNames } from "./cards";
import { ChooseSource } from "./choose-source";
import type { TriggerDraft } from "./model";
import type { Parts } from "./parts";
import { sourceNamesQuery } from "./queries";
import { SourceEvents } from "./source-events";
import { useBuilder } from "./use-builder";

const TIMER = propsOf([{ name: "timer", type: "$.interface.timer", label: "Runs" }]);

export function TriggerEditor({
  at,
  parts,
  onOpen,
}: {
  at: number;
  parts: Parts;
  onOpen: (open: string) => void;
}) {
  const { draft, edit, state } = useBuilder();
  const refused = useRefusal("deploy");
  const trigger = draft.triggers[at];
  const set = (next: TriggerDraft, says: string, place?: string) =>
    edit({ ...draft, triggers: draft.triggers.with(at, next) }, says, place);
  const add = (made: TriggerDraft) => {
    edit(
      { ...draft, triggers: [...draft.triggers, made] },
      `add ${triggerNames[made.kind].toLowerCase()}`,
    );
    onOpen(draft.triggers.length === 0 ? "trigger" : `trigger.${draft.triggers.length}`);
  };
  const remove = () => {
    onOpen("trigger");
    edit({ ...draft, triggers: draft.triggers.toSpliced(at, 1) }, "remove a trigger");
  };
  const queries = useQueryClient();
  const [deploys, setDeploys] = useState<"add" | "take" | undefined>(undefined);
  const deployed = ({ id, name }: { id: string; name: string }) => {
    setDeploys(undefined);
    void queries.invalidateQueries({ queryKey: ["sources"] });
    if (deploys === "take" && trigger?.kind === "source")
      set({ ...trigger, id }, `listen to ${name}`);
    else add({ kind: "source", id, eventName: "" });
  };
  const refusal = state.refusal?.trigger === at ? state.refusal : undefined;
  return (
    <>
      <div className="bld-head">
        <h2>{trigger === undefined ? "No trigger" : triggerNames[trigger.kind]}</h2>
        <span className="grow" />
        <AddTrigger refused={refused} onAdd={add} onNew={() => setDeploys("add")} />
        {trigger !== undefined && (
          <Button size="sm" look="danger" icon={Trash2} refused={refused} onClick={remove}>
            Remove
          </Button>
        )}
      </div>
      {refusal !== undefined && (
        <div className="bld-wrong">
          <Banner kind="failed" role="alert" title="The server rejected this trigger">
            {refusal.message}
          </Banner>
        </div>
      )}
      <div className="bld-panel scroll">
        {trigger === undefined && (
          <p className="bld-none mid">
            No trigger starts this workflow. Add one, or run it by hand.
          </p>
        )}
        {trigger?.kind === "http" && <Http trigger={trigger} refused={refused} onChange={set} />}
        {trigger?.kind === "timer" && (
          <div className="bld-props" key={state.revision}>
            {parts.renderForm({
              target: state.base.id,
              props: TIMER,
              stored: {
                timer:
                  trigger.cron === undefined
                    ? { intervalSeconds: trigger.seconds }
                    : { cron: trigger.cron, timezone: trigger.zone },
              },
              sealed: [],
              refused: {},
              locked: refused,
              onValues: ({ timer }) => {
                if (!isObject(timer)) return;
                const cron = textOf(timer.cron);
                set(
                  {
                    ...trigger,
                    cron,
                    seconds: numberOf(timer.intervalSeconds),
                    zone: textOf(timer.timezone) ?? trigger.zone,
                  },
                  "change the schedule",
                  `trigger ${at}`,
                );
              },
            })}
          </div>
        )}
        {trigger?.kind === "source" && (
          <Source
            trigger={trigger}
            refused={refused}
            onChange={set}
            onNew={() => setDeploys("take")}
          />
        )}
      </div>
      {deploys !== undefined &&
        parts.renderNewSource({ onClose: () => setDeploys(undefined), onDeployed: deployed })}
    </>
  );
}

function AddTrigger({
  refused,
  onAdd,
  onNew,
}: {
  refused: string | undefined;
  onAdd: (trigger: TriggerDraft) => void;
  onNew: () => void;
}) {
  return (
    <Menu
      label="Triggers"
      refused={refused}
      trigger={
        <Button size="sm" icon={Plus}>
          Add a trigger
        </Button>
      }
    >
      <MenuItem
        icon={Globe}
        onSelect={() => onAdd({ kind: "http", id: undefined, auth: { type: "none" } })}
      >
        HTTP request
      </MenuItem>
      <MenuItem
        icon={Clock}
        onSelect={() =>
          onAdd({ kind: "timer", id: undefined, seconds: 900, cron: undefined, zone: "UTC" })
        }
      >
        Schedule
      </MenuItem>
      <MenuItem icon={Radio} onSelect={() => onAdd({ kind: "source", id: "", eventName: "" })}>
        Events of a source
      </MenuItem>
      <MenuItem icon={Rocket} onSelect={onNew}>
        Events of a new source…
      </MenuItem>
    </Menu>
  );
}

type HttpTrigger = Extract<TriggerDraft, { kind: "http" }>;
type SourceTrigger = Extract<TriggerDraft, { kind: "source" }>;

const AUTHS = [
  ["none", "Anyone"],
  ["bearer", "Requests with a token"],
  ["signature", "Requests with a signed body"],
  ["api_key", "Requests with an API key of the organization"],
] as const;

function Http({
  trigger,
  refused,
  onChange,
}: {
  trigger: HttpTrigger;
  refused: string | undefined;
  onChange: (trigger: TriggerDraft, says: string, place?: string) => void;
}) {
  const { state } = useBuilder();
  const { base } = state;
  const record = base.triggers.find((each) => each.type === "http" && each.id === trigger.id);
  const known = record?.type === "http" ? record : undefined;
  const address = known?.endpoint_url;
  const kind = textOf(trigger.auth.type) ?? "none";
  const was = known?.auth.type;
  const secretName = kind === "bearer" ? "token" : "secret";
  return (
    <div className="bld-props form-grid">
      {address === undefined ? (
        <p className="mid">It gets its URL once the draft is saved.</p>
      ) : (
        <>
          <Field label="URL" hint={addressHint(base)}>
            {({ id }) => (
              <div className="row">
                <output id={id} className="endpoint mono">
                  {address}
                </output>
                <Copy named text={address} />
              </div>
            )}
          </Field>
          <ShellBlock text={curlTo(address, kind)} label="Copy curl" />
        </>
      )}
      <Fields className="form-grid" refused={refused}>
        <Field label="Who may call it">
          {(control) => (
            <Select
              {...control}
              value={kind}
              choices={AUTHS.map(([value, label]) => ({ value, label }))}
              onChange={(type) => onChange({ ...trigger, auth: { type } }, "change who may call")}
            />
          )}
        </Field>
        {(kind === "bearer" || kind === "signature") && (
          <Field
            label={kind === "bearer" ? "Token" : "Secret"}
            hint={
              was === kind
                ? "A value is set. Leave this empty to keep it; it cannot be read back."
                : "It cannot be read back once it is saved."
            }
          >
            {(control) => (
              <Password
                {...control}
                autoComplete="new-password"
                value={textOf(trigger.auth[secretName]) ?? ""}
                onChange={({ target }) => {
                  const { [secretName]: _, ...rest } = trigger.auth;
                  const auth = target.value === "" ? rest : { ...rest, [secretName]: target.value };
                  onChange({ ...trigger, auth }, "change the secret", `secret ${trigger.id}`);
                }}
              />
            )}
          </Field>
        )}
        {kind === "signature" && (
          <Field
            label="Header"
            hint="If empty, signatures of Standard Webhooks. Otherwise the header with the HMAC-SHA256 of the body, such as x-hub-signature-256."
          >
            {(control) => (
              <Input
                {...control}
                mono
                value={textOf(trigger.auth.header) ?? ""}
                onChange={({ target }) => {
                  const { header: _, ...rest } = trigger.auth;
                  const auth = target.value === "" ? rest : { ...rest, header: target.value };
                  onChange({ ...trigger, auth }, "change the header", `header ${trigger.id}`);
                }}
              />
            )}
          </Field>
        )}
      </Fields>
    </div>
  );
}

function curlTo(address: string, kind: string): CommandLine {
  return kind === "bearer" || kind === "api_key"
    ? line`curl ${address} -H 'Authorization: Bearer …' -H 'Content-Type: application/json' -d '{"hello": "world"}'`
    : line`curl ${address} -H 'Content-Type: application/json' -d '{"hello": "world"}'`;
}

function addressHint(base: { deployment_id: string | null; active: boolean }): string | undefined {
  if (base.deployment_id === null)
    return "It accepts requests from the first deploy on. Until then, test with the sample or an edited copy of it.";
  if (!base.active) return "The workflow is off. Requests are rejected.";
  return "A request with the header x-pd-notrigger: 1 is stored as a test request and starts no run.";
}

function Source({
  trigger,
  refused,
  onChange,
  onNew,
}: {
  trigger: SourceTrigger;
  refused: string | undefined;
  onNew: () => void;
  onChange: (trigger: TriggerDraft, says: string, place?: string) => void;
}) {
  const { data: sources = [] } = useQuery(sourceNamesQuery);
  const found = sources.find(({ id }) => id === trigger.id);
  const events = trigger.id !== "" && (
    <SourceEvents key={trigger.id} source={trigger.id} eventName={trigger.eventName} />
  );
  return (
    <>
      <div className="bld-props">
        <Fields className="form-grid" refused={refused}>
          <ChooseSource
            value={trigger.id === "" ? null : { key: trigger.id, label: found?.name ?? trigger.id }}
            onChange={(item) => onChange({ ...trigger, id: item?.key ?? "" }, "choose a source")}
            onNew={onNew}
          />
          <Field label="Channel" hint="If empty, the default channel, for $emit without a name.">
            {(control) => (
              <Input
                {...control}
                mono
                value={trigger.eventName}
                onChange={({ target }) =>
                  onChange(
                    { ...trigger, eventName: target.value },
                    "change the channel",
                    `channel ${trigger.id}`,
                  )
                }
              />
            )}
          </Field>
        </Fields>
      </div>
      {events}
    </>
  );
}
