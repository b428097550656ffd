/** Name, limits and the end of a workflow. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Files, Trash2 } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { RetentionFields } from "~/shell/retention";
import { useRefusal } from "~/shell/session";
import { ChangedMeanwhile, NotSaved } from "~/shell/typed-form";
import { WouldGo } from "~/shell/would-go";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Confirm } from "~/ui/dialog";
import { Field, Fields, Input, SwitchRow, TextArea } from "~/ui/field";
import { say } from "~/ui/toast";
import { ChangeFiles } from "./change-files";
import { LIMITS, labelOf, SWITCHES } from "./settings-form";
import { useBuilder } from "./use-builder";
import { useSettingsForm } from "./use-settings-form";

const NOTE_MAX = 2_000;

export function WorkflowSettings() {
  const builder = useBuilder();
  const { base } = builder.state;
  const refused = useRefusal("deploy");
  const [showsFiles, setShowsFiles] = useState(false);
  const form = useSettingsForm();
  const { textOf, set } = form;
  const wrong = LIMITS.find(({ name }) => !/^\d*(\.\d+)?$/.test(textOf(name).trim()));
  const stop = refused ?? (wrong === undefined ? form.refused : `${wrong.label}: not a number.`);
  const field = form.error instanceof ApiError ? form.error.field : undefined;
  return (
    <form
      className="scroll wf-settings"
      onSubmit={(event) => {
        event.preventDefault();
        if (stop === undefined) form.mutate();
      }}
    >
      <Fields className="form-grid" refused={refused}>
        <Field label="Name" error={field === "name" ? form.error?.message : undefined}>
          {(control) => (
            <Input
              {...control}
              value={textOf("name")}
              onChange={({ target }) => set("name", target.value)}
            />
          )}
        </Field>
        <Field
          label="Tags"
          hint="Separated by commas. The list can be filtered by tag."
          error={field === "tags" ? form.error?.message : undefined}
        >
          {(control) => (
            <Input
              {...control}
              value={textOf("tags")}
              onChange={({ target }) => set("tags", target.value)}
            />
          )}
        </Field>
        <Field
          label="Note"
          hint="Shown to everyone who works on the workflow."
          error={field === "note" ? form.error?.message : undefined}
        >
          {(control) => (
            <TextArea
              {...control}
              rows={3}
              maxLength={NOTE_MAX}
              value={textOf("note")}
              onChange={({ target }) => set("note", target.value)}
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
                ? `“${textOf(name)}” is not a number.`
                : field === `settings.${name}`
                  ? form.error?.message
                  : undefined
            }
          >
            {(control) => (
              <Input
                {...control}
                inputMode="decimal"
                value={textOf(name)}
                onChange={({ target }) => set(name, target.value)}
              />
            )}
          </Field>
        ))}
        {SWITCHES.map(({ name, label }) => (
          <SwitchRow
            key={name}
            label={label}
            checked={textOf(name) === "on"}
            onChange={(checked) => set(name, checked ? "on" : "off")}
          />
        ))}
      </Fields>
      <ChangedMeanwhile
        form={form}
        record={base.id}
        labelOf={labelOf}
        fieldOf={(name) => (["name", "tags", "note"].includes(name) ? name : "settings")}
      />
      {form.error !== null && (
        <Banner kind="failed" role="alert" title="Nothing was saved">
          {sentence(form.error)}
        </Banner>
      )}
      <div className="row">
        <Button look="primary" type="submit" refused={stop} busy={form.isPending && "Saving…"}>
          Save settings
        </Button>
        {refused === undefined && <NotSaved form={form} />}
      </div>
      <div className="row">
        <Button look="quiet" icon={Files} onClick={() => setShowsFiles(true)}>
          As files…
        </Button>
        {showsFiles && <ChangeFiles whole onClose={() => setShowsFiles(false)} />}
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
      say({ title: `${base.name} was deleted` });
      void navigate({ to: "/workflows", ignoreBlocker: true });
    },
  });
  return (
    <div className="danger-zone">
      <div className="grow">
        <p className="name">Delete this workflow</p>
        <p className="mid small">
          Its URLs and schedules stop working. Queued and paused runs are cancelled. Its history is
          kept.
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
        <p>Its URLs, its schedules and its draft are deleted.</p>
        <WouldGo kind="workflow" id={base.id} />
      </Confirm>
    </div>
  );
}
