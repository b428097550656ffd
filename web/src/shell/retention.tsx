/** Retention of a workflow's or a source's history: its own limits, or the server's. */

import "./retention.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import { ApiError, sentence } from "~/api/errors";
import { Button } from "~/ui/button";
import { Field, Input } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { useRefusal } from "./session";

const retentionQuery = (owner: string, isWorkflow: boolean) => ({
  queryKey: ["retention", owner],
  queryFn: ({ signal }: { signal: AbortSignal }) => {
    const asked = { params: { path: { id: owner } }, signal };
    return isWorkflow
      ? data(client.GET("/v1/workflows/{id}/retention", asked))
      : data(client.GET("/v1/sources/{id}/retention", asked));
  },
});

type Typed = { keep_days: string; keep_count: string };

export function RetentionFields({ owner, isWorkflow }: { owner: string; isWorkflow: boolean }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const { data: kept } = useQuery(retentionQuery(owner, isWorkflow));
  const [typed, setTyped] = useState<Partial<Typed>>({});
  const shown: Typed = {
    keep_days: typed.keep_days ?? String(kept?.keep_days ?? ""),
    keep_count: typed.keep_count ?? String(kept?.keep_count ?? ""),
  };
  const wrong = Object.values(shown).some((text) => !/^\d*$/.test(text.trim()));
  const save = useMutation({
    mutationFn: () => {
      const numberIn = (text: string) => (text.trim() === "" ? null : Number(text.trim()));
      const asked = {
        params: { path: { id: owner } },
        body: { keep_days: numberIn(shown.keep_days), keep_count: numberIn(shown.keep_count) },
      };
      return isWorkflow
        ? data(client.PUT("/v1/workflows/{id}/retention", asked))
        : data(client.PUT("/v1/sources/{id}/retention", asked));
    },
    onSuccess: (saved) => {
      setTyped({});
      queries.setQueryData(retentionQuery(owner, isWorkflow).queryKey, saved);
      say({ title: "Saved", about: "How much history is kept", shape: "succeeded" });
    },
  });
  const field = save.error instanceof ApiError ? save.error.field : undefined;
  const changed = (["keep_days", "keep_count"] as const).some(
    (name) => shown[name].trim() !== String(kept?.[name] ?? ""),
  );
  const input = (name: keyof Typed, label: string, hint: string) => (
    <Field
      label={label}
      hint={hint}
      error={
        /^\d*$/.test(shown[name].trim())
          ? field === name
            ? save.error?.message
            : undefined
          : `“${shown[name]}” is no whole number.`
      }
    >
      {(control) => (
        <Input
          {...control}
          inputMode="numeric"
          value={shown[name]}
          onChange={({ target }) => setTyped({ ...typed, [name]: target.value })}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            // The form around it saves something else.
            event.preventDefault();
            if (refused === undefined && !wrong && changed) save.mutate();
          }}
        />
      )}
    </Field>
  );
  return (
    <section className="retention" aria-labelledby="retention">
      <h2 id="retention">How much history is kept</h2>
      <fieldset className="form-grid" disabled={refused !== undefined || kept === undefined}>
        {input(
          "keep_days",
          "Days",
          `Empty: as the server has it${kept?.kept_days == null ? ", without an end" : `, ${plural(kept.kept_days, "day")}`}.`,
        )}
        {input(
          "keep_count",
          "Newest runs and events",
          `Empty: as the server has it${kept?.kept_count == null ? ", without a limit" : `, ${count(kept.kept_count)}`}.`,
        )}
      </fieldset>
      {save.error !== null && field === undefined && (
        <p role="alert" className="failed-text">
          {sentence(save.error)}
        </p>
      )}
      <div>
        <Button
          refused={
            refused ??
            (wrong ? "A field is no whole number." : changed ? undefined : "Nothing is changed.")
          }
          busy={save.isPending && "Saving…"}
          onClick={() => save.mutate()}
        >
          Save what is kept
        </Button>
      </div>
    </section>
  );
}
