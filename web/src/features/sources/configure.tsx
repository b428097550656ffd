/** Configuring a deployed source: its name, its props with what changes, and its end. The form comes from the route. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Trash2 } from "lucide-react";
import { type ReactNode, useEffect, useMemo, useState } from "react";
import { changeOver, client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { asJsonObject, isObject, objectOf } from "~/api/json";
import { problemsOf } from "~/api/props";
import type { Source } from "~/api/schema";
import { forget, keep, keptOf } from "~/shell/kept";
import { ownName } from "~/shell/kept-tabs";
import { useKeptField } from "~/shell/kept-text";
import { RetentionFields } from "~/shell/retention";
import { useRefusal } from "~/shell/session";
import { conflictsOf, unsavedOf } from "~/shell/typed-fields";
import { Theirs } from "~/shell/typed-form";
import { useTypedFields } from "~/shell/use-typed-form";
import { WouldGo } from "~/shell/would-go";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { type Change, stable } from "~/ui/changes";
import { Confirm } from "~/ui/dialog";
import { Field, Fields, Input } from "~/ui/field";
import { minute } from "~/ui/format";
import { say } from "~/ui/toast";
import { ValueChanges } from "~/ui/value-changes";
import { formChanges, type Stored, valuesToSave } from "./changes";
import type { FormState } from "./deploy";
import { sourceQuery, sourceVersionsQuery } from "./queries";

/** Label of the field of the source's name. */
const NAME = "Name";

type Form = FormState & { changed: boolean; reset: () => void };

const valuesOf = ({ configured_props = {}, sealed_props = [] }: Stored) => ({
  configured_props,
  sealed_props,
});

function baseFrom(kept: unknown): Stored | undefined {
  if (!isObject(kept) || !Array.isArray(kept.sealed_props)) return undefined;
  return {
    configured_props: asJsonObject(objectOf(kept.configured_props)),
    sealed_props: kept.sealed_props.filter((name) => typeof name === "string"),
  };
}

/**
 * Values that the form was filled in over, kept as long as what was typed: others may save
 * meanwhile. While nothing is typed, the form follows what is stored.
 */
function useBase(source: Source, form: Form) {
  const place = useMemo(() => ownName(`source.${source.id}.base`), [source.id]);
  const [base, setBase] = useState<Stored>(
    () => (form.changed ? baseFrom(keptOf(place)?.value) : undefined) ?? source,
  );
  // biome-ignore lint/correctness/useExhaustiveDependencies: only what is stored makes the form follow
  useEffect(() => {
    if (form.changed) {
      keep(place, valuesOf(base));
      return;
    }
    forget(place);
    if (stable(valuesOf(base)) === stable(valuesOf(source))) return;
    setBase(source);
    form.reset();
  }, [form.changed, source]);
  return [base, setBase] as const;
}

export function Configure({
  source,
  form,
  children,
}: {
  source: Source;
  form: Form;
  children: ReactNode;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const named = useTypedFields(`source.${source.id}.name`, { name: source.name });
  const said = useKeptField(`source.${source.id}.message`);
  const message = said.text;
  const [base, setBase] = useBase(source, form);
  const [clashes, setClashes] = useState<readonly Change[]>([]);
  const save = useMutation({
    mutationFn: (keep: "ask" | "mine" | "theirs") => {
      const params = { path: { id: source.id } };
      return changeOver(
        () => client.GET("/v1/sources/{id}", { params }),
        async (now, header) => {
          const { values, taken, clashes } = valuesToSave(base, now, form);
          const sent = unsavedOf(named.latest(), { name: now.name });
          let name = sent.name?.to.trim();
          const clashesOfName = conflictsOf(named.latest(), { name: now.name }).map(() => ({
            name: NAME,
            before: now.name,
            after: name,
          }));
          const all = [...clashesOfName, ...clashes];
          if (all.length > 0 && keep === "ask") return { clashes: all };
          if (keep === "theirs") {
            if (clashesOfName.length > 0) name = undefined;
            for (const { name } of clashes) {
              taken[name] = now.configured_props[name];
              delete values[name];
            }
          }
          const body = {
            ...(name === undefined ? {} : { name }),
            ...(form.changed
              ? {
                  configured_props: asJsonObject(values),
                  ...(message.trim() === "" ? {} : { message: message.trim() }),
                  ...(form.formId() === undefined ? {} : { dynamic_props_id: form.formId() }),
                }
              : {}),
          };
          const changed = await data(
            client.PUT("/v1/sources/{id}", { params: { ...params, header }, body }),
          );
          return { clashes: [], changed, taken, sent, done: form.done };
        },
      );
    },
    onSuccess: ({ clashes, changed, taken, sent, done }) => {
      setClashes(clashes);
      if (changed === undefined) return;
      done(taken);
      setBase(changed);
      named.saved(sent, { name: changed.name });
      said.done("");
      queries.setQueryData(sourceQuery(source.id).queryKey, changed);
      void queries.invalidateQueries({ queryKey: ["sources"] });
      void queries.invalidateQueries({ queryKey: sourceVersionsQuery(source.id).queryKey });
      say({ title: "Saved", about: changed.name, shape: "succeeded" });
    },
    onError: (error) => {
      if (error instanceof ApiError) form.refuse(problemsOf(error.details));
    },
  });
  const changed = form.changed || named.unsaved.name !== undefined;
  const changes = form.changed ? formChanges(base, form) : [];
  return (
    <form
      className="scroll configure"
      onSubmit={(event) => {
        event.preventDefault();
        if (!save.isPending && form.reveal()) save.mutate("ask");
      }}
    >
      <Fields className="fields" refused={refused}>
        <div className="configure-name">
          <Field label={NAME}>
            {(control) => (
              <Input
                {...control}
                value={named.textOf("name")}
                onChange={(event) => named.set("name", event.target.value)}
              />
            )}
          </Field>
        </div>
        {children}
        {form.changed && (
          <section className="configure-changes" aria-labelledby="configure-changes">
            <h2 id="configure-changes">Changes</h2>
            {changes.length === 0 ? (
              <p className="mid">No changes from the live version.</p>
            ) : (
              <ValueChanges changes={changes} label="Changes" />
            )}
            <Field label="Message" hint="Shown in the list of versions.">
              {(control) => (
                <Input
                  {...control}
                  maxLength={500}
                  placeholder="What this version changes, and why"
                  value={message}
                  onChange={(event) => said.set(event.target.value)}
                />
              )}
            </Field>
          </section>
        )}
      </Fields>
      {save.error !== null && (
        <Banner kind="failed" role="alert" title="Nothing was saved">
          {sentence(save.error)}
        </Banner>
      )}
      <Theirs
        record={source.id}
        fields={clashes.map(({ name }) => (name === NAME ? "name" : "configured_props"))}
        changes={clashes}
        onDecide={(mine) => {
          if (!save.isPending) save.mutate(mine ? "mine" : "theirs");
        }}
      />
      <div className="configure-bar">
        <Button
          look="primary"
          type="submit"
          refused={refused ?? (changed ? undefined : "No changes to save.")}
          busy={save.isPending && "Saving…"}
        >
          Save
        </Button>
        {changed && (
          <Button
            onClick={() => {
              form.reset();
              setBase(source);
              setClashes([]);
              said.done("");
              named.discard();
            }}
          >
            Discard changes
          </Button>
        )}
        <span className="small dim">
          {form.keptAt === undefined
            ? changed
              ? "Not saved"
              : ""
            : `Not saved. Kept in this browser at ${minute(form.keptAt)}, without secrets.`}
        </span>
      </div>
      <RetentionFields owner={source.id} isWorkflow={false} />
      <Delete source={source} />
    </form>
  );
}

function Delete({ source }: { source: Source }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [asks, setAsks] = useState(false);
  const remove = useMutation({
    mutationFn: () =>
      data(client.DELETE("/v1/sources/{id}", { params: { path: { id: source.id } } })),
    onSuccess: () => {
      void queries.invalidateQueries({ queryKey: ["sources"] });
      say({ title: `${source.name} was deleted` });
      void navigate({ to: "/sources" });
    },
  });
  return (
    <div className="danger-zone">
      <div className="grow">
        <p className="name">Delete this source</p>
        <p className="mid small">Its events and logs are deleted with it.</p>
      </div>
      <Button look="danger" icon={Trash2} refused={refused} onClick={() => setAsks(true)}>
        Delete source…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title={`Delete source “${source.name}”?`}
        act="Delete source"
        typed={source.name_slug}
        busy={remove.isPending && "Deleting…"}
        error={remove.error === null ? undefined : sentence(remove.error)}
        onConfirm={() => remove.mutate()}
      >
        <p>Its events and logs are deleted.</p>
        <WouldGo kind="source" id={source.id} />
      </Confirm>
    </div>
  );
}
