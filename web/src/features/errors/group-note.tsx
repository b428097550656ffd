/** Note on a group of errors, shared by all members. */

import { useQueryClient } from "@tanstack/react-query";
import { useId } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { ErrorGroupRecord } from "~/api/schema";
import { useRefusal } from "~/shell/session";
import { ChangedMeanwhile, NotSaved } from "~/shell/typed-form";
import { useTypedForm } from "~/shell/use-typed-form";
import { Button } from "~/ui/button";
import { Message, TextArea } from "~/ui/field";
import { groupQuery } from "./queries";

const NOTE_MAX = 2_000;

export function GroupNote({ group }: { group: ErrorGroupRecord }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const id = useId();
  const form = useTypedForm({
    keepAs: `error-group.${group.id}`,
    record: group,
    textsOf: ({ note }) => ({ note: note ?? "" }),
    send: async (check) => {
      const params = { path: { id: group.id } };
      const { note } = check(await data(client.GET("/v1/error_groups/{id}", { params })));
      const body = note === undefined ? {} : { note: note.to.trim() || null };
      return data(client.PUT("/v1/error_groups/{id}", { params, body }));
    },
    onRecord: (read) => queries.setQueryData(groupQuery(group.id).queryKey, read),
    onSaved: () => void queries.invalidateQueries({ queryKey: ["error-groups"] }),
  });
  return (
    <section className="group-note">
      <h3>
        <label htmlFor={id}>Note</label>
      </h3>
      <TextArea
        id={id}
        rows={3}
        maxLength={NOTE_MAX}
        readOnly={refused !== undefined}
        placeholder={refused === undefined ? "What is known about this error" : "No note yet"}
        aria-describedby={refused === undefined ? undefined : `${id}-m`}
        value={form.textOf("note")}
        onChange={({ target }) => form.set("note", target.value)}
      />
      <Message id={`${id}-m`} hint={refused} />
      <ChangedMeanwhile form={form} record={group.id} labelOf={() => "Note"} />
      {form.isTyped && (
        <div className="row">
          {form.conflicts.length === 0 && (
            <Button size="sm" busy={form.isPending && "Saving…"} onClick={form.mutate}>
              Save note
            </Button>
          )}
          <NotSaved form={form} />
        </div>
      )}
      {form.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(form.error)}
        </p>
      )}
    </section>
  );
}
