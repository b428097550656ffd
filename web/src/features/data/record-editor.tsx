/** Editor of a value of a data store; asks before it overwrites what was written meanwhile. */

import { hashKey, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Trash2 } from "lucide-react";
import { type ReactNode, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { ExactJson } from "~/json/exact";
import { forgetText, useKeptField } from "~/shell/kept-text";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { Banner, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { Editor } from "~/ui/code/editor";
import { Field, Input, Message } from "~/ui/field";
import { jsonProblem } from "~/ui/json/problem";
import { PaneHead } from "~/ui/pane";
import { Until } from "~/ui/time";
import { say } from "~/ui/toast";
import { findRecord, recordQuery, type StoredValue, writeRecord } from "./queries";

export function Stored({
  store,
  recordKey,
  onGone,
}: {
  store: string;
  recordKey: string;
  onGone: () => void;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const { data: record, error, refetch } = useQuery(recordQuery(store, recordKey));
  const remove = useMutation({
    mutationFn: (_: StoredValue) =>
      data(
        client.DELETE("/v1/data_stores/{id}/record", {
          params: { path: { id: store }, query: { key: recordKey } },
        }),
      ),
    onSuccess: (_, had) => {
      for (const name of Object.values(keptNames(store, recordKey))) forgetText(name);
      say({
        title: `${recordKey} was deleted`,
        act: {
          label: "Undo",
          onClick: () => {
            void writeRecord(store, recordKey, had).then(
              () => queries.invalidateQueries({ queryKey: ["data-store", store] }),
              (error: Error) =>
                say({ title: `${recordKey} was not restored`, about: sentence(error) }),
            );
          },
        },
      });
      onGone();
      // Shown until the page has changed, it is not asked for again: it would not be found.
      const gone = recordQuery(store, recordKey).queryKey;
      void queries.invalidateQueries({ queryKey: gone, exact: true, refetchType: "none" });
      void queries.invalidateQueries({
        queryKey: ["data-store", store],
        predicate: (query) => query.queryHash !== hashKey(gone),
      });
    },
    onError: (error) => say({ title: `${recordKey} was not deleted`, about: sentence(error) }),
  });
  if (record === undefined) {
    return error === null ? (
      <SkeletonRows />
    ) : (
      <ReadFailed what="The value" error={error} again={refetch} />
    );
  }
  return (
    <>
      <PaneHead title={<span className="mono">{recordKey}</span>}>
        {record.endsAt !== undefined && (
          <span className="dim small">
            expires <Until at={record.endsAt} />
          </span>
        )}
        <Button
          size="sm"
          look="danger"
          icon={Trash2}
          refused={refused}
          onClick={() => remove.mutate(record)}
        >
          Delete
        </Button>
      </PaneHead>
      <StoredValueForm store={store} recordKey={recordKey} record={record} />
    </>
  );
}

const keptNames = (store: string, key: string) => ({
  text: `record.${store}.text.${key}`,
  base: `record.${store}.base.${key}`,
});

/** The value of a key, which others write as well: what was typed remembers what it began from. */
function StoredValueForm({
  store,
  recordKey,
  record,
}: {
  store: string;
  recordKey: string;
  record: StoredValue;
}) {
  const names = keptNames(store, recordKey);
  const typed = useKeptField(names.text, record.text);
  /** Empty, as no JSON is, while nothing is typed: the stored value is shown then, as it changes. */
  const begun = useKeptField(names.base);
  const isTyped = begun.text !== "";
  const base = isTyped ? begun.text : record.text;
  const done = () => {
    typed.done(record.text);
    begun.done("");
  };
  return (
    <ValueForm
      store={store}
      recordKey={recordKey}
      text={isTyped ? typed.text : record.text}
      base={base}
      onText={(next) => {
        if (next === base) return done();
        typed.set(next);
        begun.set(base);
      }}
      onBoth={done}
      onDiscard={isTyped ? done : undefined}
    />
  );
}

const NEW_TEXT = "null";

export function NewRecord({ store, onSaved }: { store: string; onSaved: (key: string) => void }) {
  const named = useKeptField(`record.${store}.new-key`);
  const typed = useKeptField(`record.${store}.new-text`, NEW_TEXT);
  const name = named.text;
  const done = () => {
    named.done("");
    typed.done(NEW_TEXT);
  };
  const isTyped = name !== "" || typed.text !== NEW_TEXT;
  return (
    <ValueForm
      store={store}
      recordKey={name}
      text={typed.text}
      base={undefined}
      onText={typed.set}
      onBoth={() => {
        done();
        onSaved(name);
      }}
      onDiscard={isTyped ? done : undefined}
    >
      <Field label="Key" optional={false}>
        {(control) => (
          <Input
            {...control}
            mono
            value={name}
            onChange={(event) => named.set(event.target.value)}
          />
        )}
      </Field>
    </ValueForm>
  );
}

/** What stands in the store in place of what an edit began from; `undefined`: the key is gone. */
type Conflict = { theirs: StoredValue | undefined };

function ValueForm({
  store,
  recordKey,
  text,
  base,
  onText,
  onBoth,
  onDiscard,
  children,
}: {
  store: string;
  recordKey: string;
  text: string;
  /** Text that the edit began from; `undefined` of a key that is new. */
  base: string | undefined;
  onText: (text: string) => void;
  /** Called when form and store have the same text. */
  onBoth: () => void;
  /** Lets what is typed go; `undefined` where nothing is. */
  onDiscard: (() => void) | undefined;
  children?: ReactNode;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("deploy");
  const [conflict, setConflict] = useState<Conflict>();
  const parsed = parse(text);
  const settle = (record: StoredValue) => {
    setConflict(undefined);
    queries.setQueryData(recordQuery(store, recordKey).queryKey, record);
    void queries.invalidateQueries({ queryKey: ["data-store", store] });
    onBoth();
  };
  const save = useMutation({
    mutationFn: async ({ mine, expected }: { mine: string; expected: string | undefined }) => {
      const theirs = await findRecord(store, recordKey);
      if (theirs?.text !== expected && theirs?.text !== mine) return { theirs };
      const endsAt = base === undefined ? undefined : theirs?.endsAt;
      const record: StoredValue = { text: mine, endsAt };
      await writeRecord(store, recordKey, record);
      return record;
    },
    onMutate: () => setConflict(undefined),
    onSuccess: (done) => {
      if ("theirs" in done) {
        setConflict(done);
        return;
      }
      say({ title: "Saved", about: recordKey, shape: "succeeded" });
      settle(done);
    },
  });
  const stop =
    refused ??
    ("problem" in parsed
      ? parsed.problem
      : recordKey === ""
        ? "Enter a key first."
        : text === base
          ? "No changes to save."
          : undefined);
  const submit = (expected: string | undefined) => {
    if ("text" in parsed && stop === undefined) save.mutate({ mine: parsed.text, expected });
  };
  return (
    <form
      className="record"
      onSubmit={(event) => {
        event.preventDefault();
        submit(base);
      }}
    >
      {children}
      <Editor
        language="json"
        label="Value"
        value={text}
        onChange={onText}
        invalid={"problem" in parsed}
        minHeight={160}
        maxHeight="60dvh"
      />
      {"problem" in parsed && <Message error={parsed.problem} />}
      {save.error !== null && (
        <p role="alert" className="failed-text">
          {sentence(save.error)}
        </p>
      )}
      {conflict !== undefined && (
        <Overwrite
          theirs={conflict.theirs}
          mine={text}
          isNew={base === undefined}
          stop={stop}
          onMine={() => submit(conflict.theirs?.text)}
          onTheirs={settle}
          onCancel={() => setConflict(undefined)}
        />
      )}
      <div className="record-acts">
        <Button look="primary" type="submit" refused={stop} busy={save.isPending && "Saving…"}>
          Save
        </Button>
        {onDiscard !== undefined && (
          <>
            <Button onClick={onDiscard}>Discard</Button>
            <span className="dim small">Not saved yet. Kept in this browser.</span>
          </>
        )}
      </div>
    </form>
  );
}

/** Asks whose value stays. */
function Overwrite({
  theirs,
  mine,
  isNew,
  stop,
  onMine,
  onTheirs,
  onCancel,
}: {
  theirs: StoredValue | undefined;
  mine: string;
  isNew: boolean;
  stop: string | undefined;
  onMine: () => void;
  onTheirs: (theirs: StoredValue) => void;
  onCancel: () => void;
}) {
  const title =
    theirs === undefined
      ? "This key was deleted since you opened it."
      : isNew
        ? "The store has this key already."
        : "This value was changed elsewhere since you opened it.";
  return (
    <Banner kind="waits" role="alert" title={title}>
      Nothing was saved.
      {theirs !== undefined && (
        <DiffView
          before={theirs.text}
          after={mine}
          label="Your value compared with the stored one"
        />
      )}
      <div className="record-acts">
        <Button size="sm" refused={stop} onClick={onMine}>
          {theirs === undefined ? "Recreate with mine" : "Overwrite with mine"}
        </Button>
        {theirs !== undefined && (
          <Button size="sm" onClick={() => onTheirs(theirs)}>
            Use theirs
          </Button>
        )}
        <Button size="sm" onClick={onCancel}>
          Cancel
        </Button>
      </div>
    </Banner>
  );
}

function parse(text: string): { text: string } | { problem: string } {
  try {
    return { text: ExactJson.parse(text).text(2) };
  } catch {
    return { problem: jsonProblem(text) };
  }
}
