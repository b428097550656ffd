/** Dialog that finds an event to test with: any run, or any event of a source, by its words. */

import "./workflow.css";
import { useInfiniteQuery, useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { ChevronRight } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { sentence } from "~/api/errors";
import { eventQuery } from "~/api/events";
import { textOf } from "~/api/json";
import { listedRowOf } from "~/api/run-list";
import { ListState } from "~/shell/list-state";
import { Empty } from "~/ui/banner";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Search } from "~/ui/field";
import { clock } from "~/ui/format";
import { Select } from "~/ui/select";
import { Glyph } from "~/ui/status";
import { When } from "~/ui/time";
import { eventsToChooseQuery, runsToChooseQuery, sourceNamesQuery } from "./queries";
import { eventOfSource } from "./test-event";
import { useBuilder } from "./use-builder";
import { useNamedEvent } from "./use-named-event";
import { eventOfRunQuery } from "./use-test";

/** Runs of the workflow, in the place of the id of a source. */
export const RUNS = "runs";

/** `from`: `RUNS`, or the id of the source that is looked at first. */
export function ChooseEvent({ from, onClose }: { from: string; onClose: () => void }) {
  const { draft, state } = useBuilder();
  const { data: names = [] } = useQuery(sourceNamesQuery);
  const [of, setOf] = useState(from);
  const [text, setText] = useState("");
  const [words, setWords] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const sources = new Set(
    draft.triggers.flatMap((each) => (each.kind === "source" && each.id !== "" ? [each.id] : [])),
  );
  return (
    <Dialog
      open
      onClose={onClose}
      title="Choose an event"
      about={state.base.name}
      size="middle"
      initialFocus={field}
      foot={<CloseDialog />}
    >
      <div className="dialog-body">
        <Select
          aria-label="Events of"
          value={of}
          onChange={setOf}
          choices={[
            { value: RUNS, label: "Runs of the workflow" },
            ...[...sources].map((id) => ({
              value: id,
              label: names.find((each) => each.id === id)?.name ?? id,
            })),
          ]}
        />
        <form
          onSubmit={(event) => {
            event.preventDefault();
            setWords(text.trim());
          }}
        >
          <Search
            ref={field}
            wide
            label={
              of === RUNS ? "Search events, results, errors" : "Search events, ids and summaries"
            }
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              if (event.target.value === "") setWords("");
            }}
          />
        </form>
        {of === RUNS ? (
          <Runs words={words} onChosen={onClose} />
        ) : (
          <Events source={of} words={words} onChosen={onClose} />
        )}
      </div>
    </Dialog>
  );
}

type Chosen = { words: string; onChosen: () => void };

function Runs({ words, onChosen }: Chosen) {
  const { id, test } = useBuilder();
  const queries = useQueryClient();
  const name = useNamedEvent();
  const runs = useInfiniteQuery(runsToChooseQuery(id, words));
  const take = useMutation({
    mutationFn: (run: string) => queries.fetchQuery(eventOfRunQuery(run)),
    onSuccess: (event, run) => {
      test.choose(event);
      name({ run });
      onChosen();
    },
  });
  return (
    <>
      <ListState
        query={runs}
        what="The runs"
        empty={
          <Empty title={words === "" ? "No runs yet." : "No run matches all of these words."} />
        }
      >
        {(items) => (
          <ul className="add-list is-events" aria-label="Runs">
            {items.map(listedRowOf).map((run) => (
              <Line
                key={run.id}
                glyph={<Glyph status={run.status} />}
                at={run.acceptedAt}
                busy={take.isPending && take.variables === run.id}
                onTake={() => take.mutate(run.id)}
              >
                {run.error === undefined
                  ? (run.summary ?? run.status)
                  : `${run.error.code}: ${run.error.message}`}
              </Line>
            ))}
          </ul>
        )}
      </ListState>
      <Refused error={take.error} />
    </>
  );
}

function Events({ source, words, onChosen }: Chosen & { source: string }) {
  const { draft, test } = useBuilder();
  const queries = useQueryClient();
  const name = useNamedEvent();
  const events = useInfiniteQuery(eventsToChooseQuery(source, words));
  const [first] = draft.triggers;
  const isFirst = first?.kind === "source" && first.id === source;
  const take = useMutation({
    mutationFn: (id: string) => queries.fetchQuery(eventQuery(source, id, words)),
    onSuccess: (event) => {
      test.choose(eventOfSource(event));
      // The address names events of the first trigger.
      name(isFirst ? { event: event.id } : {});
      onChosen();
    },
  });
  return (
    <>
      <ListState
        query={events}
        what="The events"
        empty={<Empty title={words === "" ? "No events yet." : "No event contains this text."} />}
      >
        {(items, total) => (
          <>
            <ul className="add-list is-events" aria-label="Events">
              {items.map((event) => (
                <Line
                  key={event.id}
                  at={event.indexed_at_ms}
                  busy={take.isPending && take.variables === event.id}
                  onTake={() => take.mutate(event.id)}
                >
                  {textOf(event.metadata.summary) ?? <span className="dim">no summary</span>}
                </Line>
              ))}
            </ul>
            {words === "" && !events.hasNextPage && total >= LISTED_MAX && (
              <p className="small dim">
                The newest {LISTED_MAX} are listed. A search finds older ones.
              </p>
            )}
          </>
        )}
      </ListState>
      <Refused error={take.error} />
    </>
  );
}

/** The server lists so many events of a source; a search reaches older ones. */
const LISTED_MAX = 100;

function Line({
  glyph,
  at,
  busy,
  onTake,
  children,
}: {
  glyph?: ReactNode;
  at: number;
  busy: boolean;
  onTake: () => void;
  children: ReactNode;
}) {
  return (
    <li>
      <button type="button" aria-busy={busy} onClick={onTake}>
        {glyph ?? <span />}
        <span className="cut">
          <span className="num">{clock(at)}</span> <span className="mid">{children}</span>
        </span>
        <span className="small dim">
          <When at={at} />
        </span>
        <ChevronRight className="icon" aria-hidden="true" />
      </button>
    </li>
  );
}

function Refused({ error }: { error: Error | null }) {
  if (error === null) return null;
  return (
    <p role="alert" className="failed-text">
      The event could not be loaded. {sentence(error)}
    </p>
  );
}
