/** Name, limits and the end of a workflow. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Files, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { type JsonObject, numberOf } from "~/api/json";
import { AsCommand, curlOf } from "~/shell/as-command";
import { RetentionFields } from "~/shell/retention";
import { useRefusal } from "~/shell/session";
import { WouldGo } from "~/shell/would-go";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Input, SwitchRow, TextArea } from "~/ui/field";
import { say } from "~/ui/toast";
import { ChangeFiles } from "./change-files";
import { useBuilder } from "./use-builder";

type Limit = { name: string; label: string; hint: string; scale: number };

/** Limits that are numbers; an empty field is the default. */
const LIMITS: readonly Limit[] = [
  { name: "timeout_ms", label: "Timeout of a run, seconds", hint: "Default: 30.", scale: 1_000 },
  { name: "memory_mb", label: "Memory, MiB", hint: "64 to 10,240. Default: 256.", scale: 1 },
  {
    name: "concurrency",
    label: "Concurrent runs",
    hint: "1 keeps runs in order. Default: no limit.",
    scale: 1,
  },
  {
    name: "queue_max",
    label: "Queued runs",
    hint: "Further requests are rejected with 429. Default: no limit.",
    scale: 1,
  },
  {
    name: "calls_per_isolate",
    label: "Calls per isolate",
    hint: "1 to 64. Default: 1. With more, concurrent runs share module variables, environment and /tmp.",
    scale: 1,
  },
];

const NOTE_MAX = 2_000;

/** Each once, as it was written first. */
export function tagsIn(text: string): string[] {
  return [...new Set(text.split(",").map((tag) => tag.trim()))].filter((tag) => tag !== "");
}

export function WorkflowSettings() {
  const builder = useBuilder();
  const { base } = builder.state;
  const shown: JsonObject = base.settings;
  const refused = useRefusal("deploy");
  const [showsFiles, setShowsFiles] = useState(false);
  const [name, setName] = useState(base.name);
  const [limits, setLimits] = useState<Record<string, string>>(() =>
    Object.fromEntries(
      LIMITS.map(({ name, scale }) => {
        const value = numberOf(shown[name]);
        return [name, value === undefined ? "" : String(value / scale)];
      }),
    ),
  );
  const [mails, setMails] = useState(base.settings.error_notification !== false);
  const [note, setNote] = useState(base.note ?? "");
  const [tags, setTags] = useState(base.tags.join(", "));
  const [keeps, setKeeps] = useState(base.settings.keep_data !== false);
  const [retries, setRetries] = useState(base.settings.auto_retry !== undefined);
  const wrong = LIMITS.find(({ name }) => !/^\d*(\.\d+)?$/.test(limits[name]?.trim() ?? ""));
  const save = useMutation({
    mutationFn: () => {
      const settings: Record<string, unknown> = {
        error_notification: mails,
        keep_data: keeps,
      };
      settings.auto_retry = retries && (base.settings.auto_retry ?? true);
      for (const { name, scale } of LIMITS) {
        const text = limits[name]?.trim() ?? "";
        settings[name] = text === "" ? false : Math.round(Number(text) * scale);
      }
      return data(
        client.PUT("/v1/workflows/{id}", {
          params: { path: { id: base.id } },
          body: {
            ...(name.trim() === base.name ? {} : { name: name.trim() }),
            ...(note.trim() === (base.note ?? "") ? {} : { note: note.trim() }),
            ...(tagsIn(tags).join() === base.tags.join() ? {} : { tags: tagsIn(tags) }),
            settings,
          },
        }),
      );
    },
    onSuccess: (record) => {
      builder.note(record);
      setNote(record.note ?? "");
      setTags(record.tags.join(", "));
      say({
        title: "Saved",
        about: "Limits come into force with the next deploy.",
        shape: "succeeded",
      });
    },
  });
  const field = save.error instanceof ApiError ? save.error.field : undefined;
  return (
    <form
      className="scroll wf-settings"
      onSubmit={(event) => {
        event.preventDefault();
        if (refused === undefined && wrong === undefined) save.mutate();
      }}
    >
      <fieldset className="form-grid" disabled={refused !== undefined}>
        <Field label="Name" error={field === "name" ? save.error?.message : undefined}>
          {(control) => (
            <Input {...control} value={name} onChange={({ target }) => setName(target.value)} />
          )}
        </Field>
        <Field
          label="Tags"
          hint="Separated by commas. Lists can be filtered by a tag."
          error={field === "tags" ? save.error?.message : undefined}
        >
          {(control) => (
            <Input {...control} value={tags} onChange={({ target }) => setTags(target.value)} />
          )}
        </Field>
        <Field
          label="Note"
          hint="For everybody who works on the workflow."
          error={field === "note" ? save.error?.message : undefined}
        >
          {(control) => (
            <TextArea
              {...control}
              rows={3}
              maxLength={NOTE_MAX}
              value={note}
              onChange={({ target }) => setNote(target.value)}
            />
          )}
        </Field>
        {LIMITS.map(({ name, label, hint }) => (
          <Field
            key={name}
            label={label}
            hint={hint}
            error={
              wrong?.name === name
                ? `“${limits[name]}” is no number.`
                : field === `settings.${name}`
                  ? save.error?.message
                  : undefined
            }
          >
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                value={limits[name] ?? ""}
                onChange={({ target }) => setLimits({ ...limits, [name]: target.value })}
              />
            )}
          </Field>
        ))}
        <SwitchRow label="Retry failed steps" checked={retries} onChange={setRetries} />
        <SwitchRow label="Mail about errors" checked={mails} onChange={setMails} />
        <SwitchRow
          label="Keep events, results and logs of runs"
          checked={keeps}
          onChange={setKeeps}
        />
      </fieldset>
      {save.error !== null && (
        <Banner kind="failed" role="alert" title="Nothing was saved">
          {sentence(save.error)}
        </Banner>
      )}
      <div>
        <Button
          look="primary"
          type="submit"
          refused={refused ?? (wrong === undefined ? undefined : `${wrong.label}: no number.`)}
          busy={save.isPending && "Saving…"}
        >
          Save settings
        </Button>
      </div>
      <div className="row">
        <Button look="quiet" icon={Files} onClick={() => setShowsFiles(true)}>
          As files…
        </Button>
        {showsFiles && <ChangeFiles whole onClose={() => setShowsFiles(false)} />}
        <AsCommand
          about={base.name}
          commands={() => [
            {
              name: "Command line",
              text: `millrace workflows pull ${base.name_slug}\nmillrace workflows run ${base.name_slug}\nmillrace workflows deployments ${base.name_slug}`,
            },
            { name: "curl", text: curlOf("GET", `/workflows/${base.id}`) },
            { name: "curl, deploy", text: curlOf("POST", `/workflows/${base.id}/deploy`, {}) },
          ]}
        />
      </div>
      <RetentionFields owner={base.id} isWorkflow />
      <Delete />
    </form>
  );
}

function Delete() {
  const builder = useBuilder();
  const { base } = builder.state;
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/workflows/{id}", { params: { path: { id: base.id } } })),
    onSuccess: () => {
      builder.forget();
      void queries.invalidateQueries({ queryKey: ["workflows"] });
      say({ title: `${base.name} is deleted` });
      void navigate({ to: "/workflows", ignoreBlocker: true });
    },
  });
  return (
    <div className="danger-zone">
      <div className="grow">
        <p className="name">Delete the workflow</p>
        <p className="mid small">
          Its addresses and schedules end. Runs that wait or pause are cancelled. Its history stays.
        </p>
      </div>
      <Button look="danger" icon={Trash2} refused={refused} onClick={() => setAsks(true)}>
        Delete workflow…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Delete workflow “${base.name}”?`}
        act="Delete workflow"
        typed={base.name_slug}
        busy={remove.isPending && "Deleting…"}
        error={remove.error === null ? undefined : sentence(remove.error)}
        onConfirm={() => remove.mutate()}
      >
        <p>Its addresses, its schedules and its draft go.</p>
        <WouldGo kind="workflow" id={base.id} />
      </Confirm>
    </div>
  );
}
