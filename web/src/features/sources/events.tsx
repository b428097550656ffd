/** Events of a source: the newest first, one of them whole beside the list, the log below. */

import "~/ui/table.css";
import { useInfiniteQuery } from "@tanstack/react-query";
import { Pause, Play } from "lucide-react";
import { useRef, useState } from "react";
import type { Source } from "~/api/schema";
import { useLive } from "~/api/stream";
import { line } from "~/shell/command-line";
import { OwnerLog } from "~/shell/owner-log";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { ShellBlock } from "~/shell/shell-block";
import { useShortcuts } from "~/shell/shortcuts";
import { Empty, SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Search } from "~/ui/field";
import { clock, count, plural } from "~/ui/format";
import { useListKeys } from "~/ui/list-keys";
import { VirtualRows } from "~/ui/virtual-rows";
import type { Found } from "./compare-events";
import { eventsQuery, summaryOf } from "./events-query";
import { NextTick } from "./next-tick";
import { OneEvent } from "./one-event";
import { RunNow } from "./run-now";
import { rateOf, skippedWords, useSkipped } from "./tail";

const ROW_HEIGHT = 29;
/** As many events as the server lists where it searches for none. */
const LISTED_MAX = 100;

export function SourceEvents({
  source,
  endpoint,
  chosen,
  onChoose,
}: {
  source: Source;
  endpoint: string | undefined;
  chosen: string | undefined;
  onChoose: (id: string | undefined) => void;
}) {
  const [paused, setPaused] = useState(false);
  const [words, setWords] = useState("");
  const [asked, setAsked] = useState("");
  const field = useRef<HTMLInputElement>(null);
  const scroll = useRef<HTMLDivElement>(null);
  const events = useInfiniteQuery(eventsQuery(source.id, asked));
  useLive(paused ? undefined : `events:${source.id}`, ["source", source.id, "events"]);
  const all = events.data?.pages.flatMap((page) => page.data) ?? [];
  const needle = words.toLowerCase();
  // What the server found may have the words in its data, which the list does not hold.
  const shown =
    needle === "" || needle === asked.toLowerCase()
      ? all
      : all.filter((event) =>
          `${event.metadata.name} ${summaryOf(event)} ${event.id}`.toLowerCase().includes(needle),
        );
  const end = events.data?.pages.at(-1)?.page_info.end_cursor ?? null;
  const { skipped, reset: resetSkipped } = useSkipped(
    source.id,
    all,
    end,
    asked === "" && events.isSuccess,
  );
  const notShown = skippedWords(skipped);
  const rate = paused ? 0 : rateOf(all, events.dataUpdatedAt);
  const [base, setBase] = useState<Found | undefined>(undefined);
  const [runs, setRuns] = useState(false);
  const channels = new Set(all.map((event) => event.metadata.name));
  const oneChannel = channels.size < 2;
  const { index, setCurrent } = useListKeys({
    ids: shown.map(({ id }) => id),
    onOpen: onChoose,
  });
  useShortcuts({
    pause: () => setPaused(!paused),
    filter: () => field.current?.focus(),
    next: () => step(1),
    previous: () => step(-1),
  });
  const step = (by: number) => {
    // The address follows the row under the keys: two quick strokes are two rows.
    const at = index >= 0 ? index : shown.findIndex(({ id }) => id === chosen);
    const next = shown[Math.min(shown.length - 1, Math.max(0, at + by))];
    if (next === undefined) return;
    setCurrent(next.id);
    onChoose(next.id);
  };
  const open = chosen ?? shown[0]?.id;
  const asks = words.trim() !== "" && words.trim() !== asked;
  const reset = () => {
    setWords("");
    setAsked("");
  };
  return (
    <div className="source-cols scroll in-order">
      {/* Not within the empty list, which goes with the first event. */}
      {runs && <RunNow source={source} onClose={() => setRuns(false)} />}
      <section className="source-left" aria-label="Events">
        <div className="bar tail-bar">
          <Button
            size="sm"
            icon={paused ? Play : Pause}
            keys="."
            aria-pressed={paused}
            onClick={() => setPaused(!paused)}
          >
            {paused ? "Resume" : "Pause"}
          </Button>
          <span className="dim cut" role="status" title={notShown}>
            {paused ? "paused" : "live"}
            {rate > 0 && `, ${rate < 10 ? rate.toFixed(1) : count(Math.round(rate))}/s`}
            {notShown !== undefined && `, ${notShown}`}
            {asked !== "" && events.isSuccess && `, ${plural(all.length, "event")} with “${asked}”`}
          </span>
          {notShown !== undefined && (
            <button type="button" className="link small" onClick={resetSkipped}>
              Reset the count
            </button>
          )}
          <span className="grow" />
          <form
            className="row"
            onSubmit={(event) => {
              event.preventDefault();
              setAsked(words.trim());
            }}
          >
            <Search
              ref={field}
              wide
              label="Filter this list"
              keys="/"
              value={words}
              onChange={(event) => {
                setWords(event.target.value);
                if (event.target.value === "") setAsked("");
              }}
            />
            {/* Its place is kept: the field must not move under the first letter. */}
            <span className={asks ? undefined : "is-unseen"}>
              <Button size="sm" type="submit" keys="enter">
                Search all
              </Button>
            </span>
          </form>
        </div>
        <div className="scroll" ref={scroll}>
          {events.isPending && <SkeletonRows height={29} />}
          {events.error !== null && (
            <ReadFailed what="The events" error={events.error} again={events.refetch} />
          )}
          {events.isSuccess && all.length === 0 && asked !== "" && (
            <Empty title={`None of the newest 2,000 events contains “${asked}”.`}>
              <Button onClick={reset}>Show all events</Button>
            </Empty>
          )}
          {events.isSuccess && all.length === 0 && asked === "" && (
            <NoEvent source={source} endpoint={endpoint} onRun={() => setRuns(true)} />
          )}
          {all.length > 0 && shown.length === 0 && (
            <Empty title="None of the events shown match.">
              <Button onClick={() => setAsked(words.trim())}>Search all events</Button>
              <Button onClick={reset}>Clear filters</Button>
            </Empty>
          )}
          {shown.length > 0 && (
            <table
              className={oneChannel ? "tbl t-events has-one-channel" : "tbl t-events"}
              aria-label="Events"
            >
              <thead>
                <tr className="tr is-head">
                  <th>Emitted</th>
                  {!oneChannel && <th>Channel</th>}
                  <th>Summary</th>
                </tr>
              </thead>
              <tbody>
                <VirtualRows
                  count={shown.length}
                  height={ROW_HEIGHT}
                  scroll={scroll}
                  keyOf={(at) => shown[at]?.id ?? String(at)}
                  shown={index}
                >
                  {(at, row) => {
                    const event = shown[at];
                    if (event === undefined) return null;
                    return (
                      <tr
                        {...row}
                        className="tr"
                        aria-current={event.id === open ? "true" : undefined}
                      >
                        <td className="num mid">{clock(event.indexed_at_ms)}</td>
                        {!oneChannel && (
                          <td className="mono cut">{event.metadata.name || "default"}</td>
                        )}
                        <td className="cut">
                          <button
                            type="button"
                            className="row-link cut"
                            onClick={() => {
                              setCurrent(event.id);
                              onChoose(event.id);
                            }}
                          >
                            {summaryOf(event) || <span className="dim">no summary</span>}
                          </button>
                        </td>
                      </tr>
                    );
                  }}
                </VirtualRows>
              </tbody>
            </table>
          )}
          {!events.hasNextPage && asked === "" && all.length >= LISTED_MAX && (
            <p className="list-end dim small">
              The newest {count(LISTED_MAX)} are listed. “Search all” finds older ones.
            </p>
          )}
          {events.hasNextPage && (
            <div className="list-end">
              <Button
                size="sm"
                busy={events.isFetchingNextPage && "Loading…"}
                onClick={() => void events.fetchNextPage()}
              >
                Show older
              </Button>
            </div>
          )}
        </div>
      </section>
      <section className="source-right" aria-label="Event">
        {open === undefined ? (
          <p className="event-none">Select an event to see it.</p>
        ) : (
          <OneEvent
            key={`${open} ${asked}`}
            source={source.id}
            found={{ id: open, words: asked }}
            base={base}
            onBase={setBase}
          />
        )}
      </section>
      <OwnerLog owner={source.id} isWorkflow={false} docked live={!paused} />
    </div>
  );
}

function NoEvent({
  source,
  endpoint,
  onRun,
}: {
  source: Source;
  endpoint: string | undefined;
  onRun: () => void;
}) {
  const refused = useRefusal("invoke");
  return (
    <Empty title="No events yet.">
      {endpoint === undefined ? (
        <p>
          {source.active ? (
            <>
              <NextTick source={source} show={(time) => <>Next tick {time}. </>} />
              It emits on schedule, or when you run it now.
            </>
          ) : (
            "The source is off. Switch it on, or run it now."
          )}
        </p>
      ) : (
        <>
          <p>Send it a request:</p>
          <ShellBlock text={line`curl ${endpoint} -d 'hello=world'`} />
        </>
      )}
      <Button icon={Play} refused={refused} onClick={onRun}>
        Run now
      </Button>
    </Empty>
  );
}
