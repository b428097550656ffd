/**
 * State of a form over a record that others change too. Fields that nobody typed in follow the
 * record; those that were typed in are kept in this browser until they are saved, and they alone
 * are sent. What others changed meanwhile in a typed field is decided on before anything is sent.
 */

import { useMutation } from "@tanstack/react-query";
import { useMemo, useRef, useState } from "react";
import { forget, keep, keptOf } from "./kept";
import { ownName } from "./kept-tabs";
import {
  conflictsOf,
  rebased,
  type Texts,
  type Typed,
  typedAfter,
  typedFrom,
  typedWith,
  unsavedOf,
} from "./typed-fields";

/** Texts of a form's fields. `keepAs`: their name among all that is kept; none of a form with secrets. */
export function useTypedFields(of: string | undefined, stored: Texts | undefined) {
  const keepAs = useMemo(() => (of === undefined ? undefined : ownName(of)), [of]);
  const [typed, setTyped] = useState<Typed>(() =>
    keepAs === undefined ? {} : typedFrom(keptOf(keepAs)?.value),
  );
  const latest = useRef(typed);
  const put = (next: Typed) => {
    latest.current = next;
    setTyped(next);
    if (keepAs === undefined) return;
    if (Object.keys(next).length === 0) forget(keepAs);
    else keep(keepAs, next);
  };
  return {
    /** What is typed and not saved. */
    unsaved: stored === undefined ? {} : unsavedOf(typed, stored),
    /** Names of the typed fields that others changed meanwhile. */
    conflicts: stored === undefined ? [] : conflictsOf(typed, stored),
    stored: stored ?? {},
    textOf: (name: string) => typed[name]?.to ?? stored?.[name] ?? "",
    /** What is typed now, also within a function that was made before. */
    latest: () => latest.current,
    set: (name: string, to: string) => put(typedWith(latest.current, stored ?? {}, name, to)),
    keepMine: (now: Texts) => put(rebased(latest.current, now)),
    takeTheirs: (names: readonly string[]) =>
      put(
        Object.fromEntries(
          Object.entries(latest.current).filter(([name]) => !names.includes(name)),
        ),
      ),
    /** `sent` is saved, as `now` has it; what was typed after it stays. */
    saved: (sent: Typed, now: Texts) => put(typedAfter(latest.current, sent, now)),
    discard: () => put({}),
  };
}

export type TypedFields = ReturnType<typeof useTypedFields>;

/** Typed fields that somebody else changed meanwhile: nothing was sent. */
class FieldsChanged extends Error {}

export function useTypedForm<R>({
  keepAs,
  record,
  textsOf,
  send,
  onRecord,
  onSaved,
}: {
  keepAs: string | undefined;
  /** `undefined` until it is read. */
  record: R | undefined;
  textsOf: (record: R) => Texts;
  /**
   * Reads the record anew and sends the fields that `check` gives: what is typed and not in it. It
   * throws where that would take back what somebody else changed.
   */
  send: (check: (record: R) => Typed) => Promise<R>;
  /** Shows a record that was read or saved. */
  onRecord: (record: R) => void;
  onSaved?: (record: R) => void;
}) {
  const fields = useTypedFields(keepAs, record === undefined ? undefined : textsOf(record));
  const save = useMutation({
    mutationFn: async () => {
      let sent: Typed = {};
      const saved = await send((now) => {
        onRecord(now);
        const texts = textsOf(now);
        if (conflictsOf(fields.latest(), texts).length > 0) throw new FieldsChanged();
        sent = unsavedOf(fields.latest(), texts);
        return sent;
      });
      return { sent, saved };
    },
    onSuccess: ({ sent, saved }) => {
      onRecord(saved);
      fields.saved(sent, textsOf(saved));
      onSaved?.(saved);
    },
  });
  const isTyped = Object.keys(fields.unsaved).length > 0;
  return {
    ...fields,
    isTyped,
    /** Why there is nothing to save yet. */
    refused:
      fields.conflicts.length > 0
        ? "Choose between theirs and yours first."
        : isTyped
          ? undefined
          : "No changes to save.",
    error: save.error instanceof FieldsChanged ? null : save.error,
    isPending: save.isPending,
    mutate: () => save.mutate(),
    /** Decides for what was typed here, which is saved, or for what the record has. */
    decide(mine: boolean) {
      save.reset();
      if (mine) {
        fields.keepMine(fields.stored);
        save.mutate();
      } else fields.takeTheirs(fields.conflicts);
    },
    discard() {
      fields.discard();
      save.reset();
    },
  };
}

export type TypedForm = ReturnType<typeof useTypedForm>;
