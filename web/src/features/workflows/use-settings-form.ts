/** The form of a workflow's settings: what is typed is kept until it is saved, and only that is sent. */

import { useMutation } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import { forget, keep, keptOf } from "~/shell/kept";
import { say } from "~/ui/toast";
import {
  conflictsOf,
  type Form,
  formOf,
  settingsRequest,
  type Typed,
  typedFrom,
  typedWith,
} from "./settings-form";
import { useBuilder } from "./use-builder";

/** How often the form is saved anew over a record that changed meanwhile. */
const TRIES_MAX = 3;

/** Fields that somebody else changed to other values than this form, and their values. */
class FieldsChanged extends Error {
  constructor(
    readonly names: readonly string[],
    readonly theirs: Form,
  ) {
    super("Somebody else changed the same settings.");
  }
}

export function useSettingsForm() {
  const builder = useBuilder();
  const { base } = builder.state;
  const place = `settings.${base.id}`;
  const [typed, setTyped] = useState<Typed>(() => typedFrom(keptOf(place)?.value));
  const saved = formOf(base);
  const put = (next: Typed) => {
    setTyped(next);
    if (Object.keys(next).length === 0) forget(place);
    else keep(place, next);
  };
  const save = useMutation({
    /** `over`: the values of others that are known and written over. */
    mutationFn: async ({ typed, over }: { typed: Typed; over?: Form }) => {
      const params = { path: { id: base.id } };
      for (let tries = 1; ; tries += 1) {
        const read = client.GET("/v1/workflows/{id}", { params });
        const record = await data(read);
        const theirs = formOf(record);
        const conflicts = conflictsOf(typed, theirs).filter(
          (name) => over?.[name] !== theirs[name],
        );
        builder.note(record);
        if (conflicts.length > 0) throw new FieldsChanged(conflicts, theirs);
        const header = { "If-Match": (await read).response.headers.get("etag") ?? "*" };
        try {
          const body = settingsRequest(typed);
          return await data(
            client.PUT("/v1/workflows/{id}", { params: { ...params, header }, body }),
          );
        } catch (error) {
          // Changed since it was read: what was changed is held against what is typed.
          const isChanged = error instanceof ApiError && error.status === 412;
          if (!isChanged || tries === TRIES_MAX) throw error;
        }
      }
    },
    onSuccess: (record) => {
      builder.note(record);
      put({});
      say({
        title: "Saved",
        about: "Limits come into force with the next deploy.",
        shape: "succeeded",
      });
    },
  });
  const changed = save.error instanceof FieldsChanged ? save.error : undefined;
  return {
    save,
    changed,
    isTyped: Object.keys(typed).length > 0,
    textOf: (name: string) => typed[name]?.to ?? saved[name] ?? "",
    set: (name: string, to: string) => put(typedWith(typed, saved, name, to)),
    submit: () => save.mutate({ typed }),
    /** Decides for what was typed here, or for what the server has. */
    decide(mine: boolean) {
      if (changed === undefined) return;
      if (mine) save.mutate({ typed, over: changed.theirs });
      else {
        const left = Object.entries(typed).filter(([name]) => !changed.names.includes(name));
        put(Object.fromEntries(left));
        save.reset();
      }
    },
    reset() {
      put({});
      save.reset();
    },
  };
}
