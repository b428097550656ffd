/** Parts of a form over a record that others change too: what is not saved, and what others changed meanwhile. */

import { useQuery } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { actorsQuery } from "~/api/queries";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import type { Change } from "~/ui/changes";
import { ValueChanges } from "~/ui/value-changes";
import { useRefusal } from "./session";
import type { TypedFields, TypedForm } from "./use-typed-form";

/** Of the audit log, the newest changes of one record. */
const NEWEST = 20;

/** Name of the person or key that changed one of the fields last, for those who may read the audit log. */
function useAuthor(record: string, fields: readonly string[]): string | undefined {
  const enabled = useRefusal("full") === undefined && fields.length > 0;
  const { data: names } = useQuery({ ...actorsQuery, enabled });
  const { data: changes } = useQuery({
    queryKey: ["audit", "of", record, fields],
    queryFn: ({ signal }) => {
      const query = { target: record, limit: NEWEST };
      return body(client.GET("/v1/audit", { params: { query }, signal }));
    },
    enabled,
    // A change that is decided on is followed by the next one.
    staleTime: 0,
    gcTime: 0,
  });
  const last = changes?.data.find(
    (each) => each.done && each.fields.some((field) => fields.includes(field)),
  );
  return last && (names?.get(last.key_id) ?? last.user_name ?? last.user_id);
}

/** Asks whose texts stay, where somebody else changed fields that are typed in. */
export function ChangedMeanwhile({
  form,
  record,
  labelOf,
  fieldOf = (name) => name,
}: {
  form: Pick<TypedFields, "conflicts" | "stored" | "textOf"> & { decide: TypedForm["decide"] };
  /** Id of the record, by which the audit log names it. */
  record: string;
  labelOf: (name: string) => string;
  /** Name of a field in the API. */
  fieldOf?: (name: string) => string;
}) {
  const { conflicts, stored, textOf, decide } = form;
  return (
    <Theirs
      record={record}
      fields={conflicts.map(fieldOf)}
      changes={conflicts.map((name) => ({
        name: labelOf(name),
        before: stored[name] || undefined,
        after: textOf(name) || undefined,
      }))}
      onDecide={decide}
    />
  );
}

/** Asks whose values stay, of those that somebody else changed and this person did too. */
export function Theirs({
  record,
  fields,
  changes,
  onDecide,
}: {
  /** Id of the record, by which the audit log names it. */
  record: string;
  /** Names in the API of the fields in question. */
  fields: readonly string[];
  changes: readonly Change[];
  onDecide: (mine: boolean) => void;
}) {
  const author = useAuthor(record, fields);
  if (changes.length === 0) return null;
  return (
    <Banner kind="waits" role="alert" title={`${author ?? "Someone else"} changed this meanwhile`}>
      Your changes are not saved. What is stored now, compared with what you typed:
      <ValueChanges label="Theirs and yours" changes={changes} />
      <div className="row banner-acts">
        <Button size="sm" onClick={() => onDecide(true)}>
          Overwrite with mine
        </Button>
        <Button size="sm" onClick={() => onDecide(false)}>
          Use theirs
        </Button>
      </div>
    </Banner>
  );
}

/** Beside the button that saves: that texts are not saved, and a way back to what is stored. */
export function NotSaved({ form }: { form: Pick<TypedForm, "isTyped" | "discard"> }) {
  if (!form.isTyped) return null;
  return (
    <>
      <Button onClick={form.discard}>Discard</Button>
      <span className="small dim">Not saved yet. This browser keeps what you typed.</span>
    </>
  );
}
