/** Retention of a workflow's or a source's history: its own limits, or the server's. */

import "./retention.css";
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import type { Retention } from "~/api/schema";
import { Button } from "~/ui/button";
import { Field, Fields, Input } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { useRefusal } from "./session";
import { ChangedMeanwhile, NotSaved } from "./typed-form";
import { useTypedForm } from "./use-typed-form";

const retentionQuery = (owner: string, isWorkflow: boolean) => ({
  queryKey: ["retention", owner],
  queryFn: ({ signal }: { signal: AbortSignal }) => {
    const asked = { params: { path: { id: owner } }, signal };
    return isWorkflow
      ? data(client.GET("/v1/workflows/{id}/retention", asked))
      : data(client.GET("/v1/sources/{id}/retention", asked));
  },
});

const FIELDS = { keep_days: "Days to keep", keep_count: "Runs and events to keep" } as const;

type Name = keyof typeof FIELDS;

const isNumber = (text: string) => /^\d*$/.test(text.trim());

const numberIn = (text: string) => (text.trim() === "" ? null : Number(text.trim()));

/** What holds where the field is empty: the server's default is known while nothing is set. */
function hintOf(name: Name, record: Retention | undefined): string {
  if (record === undefined || record[name] !== null) return "If empty, the server's default.";
  const kept = name === "keep_days" ? record.kept_days : record.kept_count;
  if (kept === null) return "If empty, the server's default: no limit.";
  return `If empty, the server's default: ${name === "keep_days" ? plural(kept, "day") : count(kept)}.`;
}

export function RetentionFields({ owner, isWorkflow }: { owner: string; isWorkflow: boolean }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const query = retentionQuery(owner, isWorkflow);
  const { data: kept } = useQuery(query);
  const form = useTypedForm<Retention>({
    keepAs: `retention.${owner}`,
    record: kept,
    textsOf: ({ keep_days, keep_count }) => ({
      keep_days: String(keep_days ?? ""),
      keep_count: String(keep_count ?? ""),
    }),
    send: async (check) => {
      const typed = check(await queries.fetchQuery({ ...query, staleTime: 0 }));
      const body = Object.fromEntries(
        Object.entries(typed).map(([name, { to }]) => [name, numberIn(to)]),
      );
      const asked = { params: { path: { id: owner } }, body };
      return isWorkflow
        ? data(client.PUT("/v1/workflows/{id}/retention", asked))
        : data(client.PUT("/v1/sources/{id}/retention", asked));
    },
    onRecord: (read) => queries.setQueryData(query.queryKey, read),
    onSaved: () => say({ title: "Saved", about: "Retention", shape: "succeeded" }),
  });
  const wrong = Object.keys(FIELDS).some((name) => !isNumber(form.textOf(name)));
  const stop = refused ?? (wrong ? "A field is not a whole number." : form.refused);
  const field = form.error instanceof ApiError ? form.error.field : undefined;
  const input = (name: Name) => (
    <Field
      label={FIELDS[name]}
      hint={hintOf(name, kept)}
      error={
        isNumber(form.textOf(name))
          ? field === name
            ? form.error?.message
            : undefined
          : `“${form.textOf(name)}” is not a whole number.`
      }
    >
      {(control) => (
        <Input
          {...control}
          inputMode="numeric"
          value={form.textOf(name)}
          onChange={({ target }) => form.set(name, target.value)}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            // The form around it saves something else.
            event.preventDefault();
            if (stop === undefined) form.mutate();
          }}
        />
      )}
    </Field>
  );
  return (
    <section className="retention" aria-labelledby="retention">
      <h2 id="retention">Retention</h2>
      {/* The form above it says why nothing can be changed. */}
      <Fields className="form-grid" refused={refused} said locked={kept === undefined}>
        {input("keep_days")}
        {input("keep_count")}
      </Fields>
      <ChangedMeanwhile
        form={form}
        record={owner}
        labelOf={(name) => (name === "keep_days" ? FIELDS.keep_days : FIELDS.keep_count)}
      />
      {form.error !== null && field === undefined && (
        <p role="alert" className="failed-text">
          {sentence(form.error)}
        </p>
      )}
      <div className="row">
        <Button refused={stop} busy={form.isPending && "Saving…"} onClick={form.mutate}>
          Save retention
        </Button>
        <NotSaved form={form} />
      </div>
    </section>
  );
}
