/** Note on a group of errors, shared by all members. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useId, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { textOf } from "~/api/json";
import type { ErrorGroup } from "~/api/schema";
import { forget, keep, keptOf } from "~/shell/kept";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { TextArea } from "~/ui/field";
import { groupQuery } from "./queries";

const NOTE_MAX = 2_000;

export function GroupNote({ group }: { group: ErrorGroup }) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const id = useId();
  const kept = `group-note.${group.id}`;
  const [text, setText] = useState(() => textOf(keptOf(kept)?.value));
  const type = (next: string | undefined) => {
    setText(next);
    if (next === undefined) forget(kept);
    else keep(kept, next);
  };
  const shown = text ?? group.note ?? "";
  const save = useMutation({
    mutationFn: () =>
      data(
        client.PUT("/v1/error_groups/{id}", {
          params: { path: { id: group.id } },
          body: { note: shown.trim() === "" ? null : shown.trim() },
        }),
      ),
    onSuccess: () => {
      type(undefined);
      void queries.invalidateQueries({ queryKey: groupQuery(group.id).queryKey });
      void queries.invalidateQueries({ queryKey: ["error-groups"] });
    },
  });
  const changed = text !== undefined && text.trim() !== (group.note ?? "");
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
        placeholder={refused === undefined ? "What is known about it" : "Nothing is noted"}
        value={shown}
        onChange={({ target }) => type(target.value)}
      />
      {changed && (
        <div className="row">
          <Button size="sm" busy={save.isPending && "Saving…"} onClick={() => save.mutate()}>
            Save the note
          </Button>
          <Button size="sm" look="quiet" onClick={() => type(undefined)}>
            Undo
          </Button>
        </div>
      )}
      {save.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(save.error)}
        </p>
      )}
    </section>
  );
}
