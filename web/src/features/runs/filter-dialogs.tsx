/** Dialogs that ask for the value of a filter of runs: an error, a workflow or source, two times. */

import { useQuery } from "@tanstack/react-query";
import { type ReactNode, useState } from "react";
import { ownersQuery } from "~/api/queries";
import { FormDialog } from "~/shell/form-dialog";
import { Combobox } from "~/ui/combobox";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Field, Input } from "~/ui/field";
import { count, shownZone } from "~/ui/format";
import type { Between } from "./run-filter";
import { timeOf, typedOf } from "./typed-time";

/** More than these are searched for: a list of thousands is slow to open, and read by nobody. */
const OWNERS_SHOWN = 100;

/** One of all workflows and sources; the choice is the filter. */
export function AskOwner({
  had,
  onClose,
  onGiven,
}: {
  had: string | undefined;
  onClose: () => void;
  onGiven: (owner: string) => void;
}) {
  const { data: owners, isPending } = useQuery(ownersQuery);
  const [text, setText] = useState("");
  const words = text.toLowerCase().split(/\s+/);
  const all = [...(owners?.values() ?? [])];
  const fitting = all.filter(({ name }) =>
    words.every((word) => name.toLowerCase().includes(word)),
  );
  const itemOf = ({ id, name, isWorkflow }: (typeof all)[number]) => ({
    key: id,
    label: name,
    note: isWorkflow ? "workflow" : "source",
  });
  const chosen = had === undefined ? undefined : owners?.get(had);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Runs of one workflow or source"
      typed={false}
      foot={<CloseDialog />}
    >
      <div className="dialog-body">
        <Field label="Workflow or source" optional={false}>
          {(control) => (
            <Combobox
              {...control}
              items={fitting.slice(0, OWNERS_SHOWN).map(itemOf)}
              value={chosen === undefined ? null : itemOf(chosen)}
              onChange={(item) => item !== null && onGiven(item.key)}
              onSearch={setText}
              onClose={() => setText("")}
              none={
                <p className="combo-none">
                  {isPending ? "Loading the names…" : "No workflow or source matches."}
                </p>
              }
              foot={
                fitting.length > OWNERS_SHOWN ? (
                  <span>
                    {count(OWNERS_SHOWN)} of {count(fitting.length)}. Type more to narrow the
                    search.
                  </span>
                ) : undefined
              }
            />
          )}
        </Field>
      </div>
    </Dialog>
  );
}

/** Two times, of which one may be left out. */
export function AskBetween({
  had,
  onClose,
  onGiven,
}: {
  had: Between | undefined;
  onClose: () => void;
  onGiven: (between: Between) => void;
}) {
  const zone = shownZone();
  const [fromText, setFrom] = useState(typedOf(had?.from, zone));
  const [toText, setTo] = useState(typedOf(had?.to, zone));
  // A field shows no seconds: a time that was not changed keeps its own.
  const keeping = (text: string, had: number | undefined) =>
    text === typedOf(had, zone) ? had : timeOf(text, zone);
  const [from, to] = [keeping(fromText, had?.from), keeping(toText, had?.to)];
  const problem =
    from === undefined && to === undefined
      ? "Enter at least one time first."
      : from !== undefined && to !== undefined && from >= to
        ? "The end must be after the start."
        : undefined;
  const give = () =>
    onGiven({ ...(from === undefined ? {} : { from }), ...(to === undefined ? {} : { to }) });
  return (
    <AskFilter
      title="Runs accepted between two times"
      refused={problem}
      onGive={give}
      onClose={onClose}
    >
      <Field label="From" hint={zone === "utc" ? "In UTC" : "In this browser's time zone"}>
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={fromText}
            onChange={(event) => setFrom(event.target.value)}
          />
        )}
      </Field>
      <Field label="To" hint="If empty, up to now">
        {(control) => (
          <Input
            {...control}
            type="datetime-local"
            value={toText}
            onChange={(event) => setTo(event.target.value)}
          />
        )}
      </Field>
    </AskFilter>
  );
}

export function AskError({
  had,
  onClose,
  onGiven,
}: {
  had: string;
  onClose: () => void;
  onGiven: (error: string) => void;
}) {
  const [text, setText] = useState(had);
  return (
    <AskFilter
      title="Runs that failed with"
      refused={text.trim() === "" ? "Enter the class of the error first." : undefined}
      onGive={() => onGiven(text.trim())}
      onClose={onClose}
    >
      <Field label="Error class" optional={false} hint="As shown in the list, such as TypeError">
        {(control) => (
          <Input {...control} mono value={text} onChange={(event) => setText(event.target.value)} />
        )}
      </Field>
    </AskFilter>
  );
}

/** A filter is chosen at once, and nothing is lost where it is not. */
function AskFilter({
  title,
  refused,
  onGive,
  onClose,
  children,
}: {
  title: string;
  refused: string | undefined;
  onGive: () => void;
  onClose: () => void;
  children: ReactNode;
}) {
  return (
    <FormDialog
      title={title}
      act="Apply"
      busy="Applying…"
      typed={false}
      mutation={{ error: null, isPending: false, mutate: onGive }}
      refused={refused}
      onClose={onClose}
    >
      {children}
    </FormDialog>
  );
}
