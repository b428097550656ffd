/** Bar of the event for tests: its origin, the choice of another one, and an edited copy. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { ChevronDown, ChevronsUpDown, PencilLine, Play, Square } from "lucide-react";
import { useEffect, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { asJson } from "~/api/json";
import { statusOf } from "~/api/runs";
import { exactText } from "~/json/exact";
import { useKeptText } from "~/shell/kept-text";
import { useRefusal } from "~/shell/session";
import { shortcuts } from "~/shell/shortcuts";
import { Button, IconButton } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Message } from "~/ui/field";
import { clock } from "~/ui/format";
import { readJson } from "~/ui/json/problem";
import { ariaKeys } from "~/ui/keys";
import { Menu, MenuHead, MenuItem } from "~/ui/menu";
import { Glyph } from "~/ui/status";
import { say } from "~/ui/toast";
import { ChooseEvent, RUNS } from "./choose-event";
import {
  EVENTS_OFFERED,
  keptEventsQuery,
  RUNS_OFFERED,
  recentRunsQuery,
  sourceNamesQuery,
} from "./queries";
import { keepSample, samplesOf } from "./samples";
import { eventOfSource, keptEvent, READING } from "./test-event";
import { useBuilder } from "./use-builder";
import { useNamedEvent } from "./use-named-event";
import { eventOfRunQuery } from "./use-test";
import { WaitForNext } from "./wait-for-next";
import type { Going } from "./watch-test";

export function EventBar({ onTest }: { onTest: () => void }) {
  const { test } = useBuilder();
  const refused = useRefusal("deploy");
  const [edits, setEdits] = useState(false);
  const [chooses, setChooses] = useState<string>();
  const { run } = test;
  const reading = test.isReading ? READING : undefined;
  return (
    <div className="bld-event-bar">
      <span className="dim only-wide">Test event</span>
      <Menu
        label="Events"
        align="start"
        trigger={
          <button type="button" className="event-pick">
            <span className="cut">{test.isReading ? "Loading the event…" : test.event.from}</span>
            <ChevronsUpDown className="icon is-sm" aria-hidden="true" />
          </button>
        }
      >
        <Choices onAll={setChooses} />
      </Menu>
      <Button
        size="sm"
        look="quiet"
        icon={PencilLine}
        refused={refused ?? reading}
        aria-label="Edit a copy"
        title="Edit a copy"
        onClick={() => setEdits(true)}
      >
        <span className="only-wide">Edit a copy</span>
      </Button>
      <WaitForNext />
      <span className="grow" />
      {run.error !== null && !run.isPending && (
        <span className="failed-text cut" role="alert">
          {sentence(run.error)}
        </span>
      )}
      {test.going !== undefined && <Progress going={test.going} />}
      {test.going !== undefined && test.stop !== undefined && <StopTest stopTest={test.stop} />}
      <Button
        size="sm"
        icon={Play}
        refused={refused ?? reading}
        aria-keyshortcuts={ariaKeys(shortcuts.testAll.keys)}
        busy={run.isPending && "Testing…"}
        onClick={onTest}
      >
        Test all
      </Button>
      <RunLive />
      {chooses !== undefined && (
        <ChooseEvent from={chooses} onClose={() => setChooses(undefined)} />
      )}
      {edits && <EditEvent onClose={() => setEdits(false)} />}
    </div>
  );
}

/** Which step of the test runs now, and since when the test does. */
function Progress({ going }: { going: Going }) {
  const seconds = useSecondsSince(going.since);
  const at = going.running === undefined ? 0 : going.steps.indexOf(going.running) + 1;
  return (
    <span className="small dim nowrap num">
      <span role="status">
        {going.stops
          ? "Stopping"
          : at === 0
            ? "Starting the test"
            : `${going.running}, ${at} of ${going.steps.length}`}
      </span>
      {seconds > 0 && `, ${seconds} s`}
    </span>
  );
}

function useSecondsSince(from: number): number {
  const [now, setNow] = useState(() => Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  return Math.max(0, Math.floor((now - from) / 1_000));
}

function StopTest({ stopTest }: { stopTest: () => Promise<void> }) {
  const { test } = useBuilder();
  const stop = useMutation({
    mutationFn: stopTest,
    onError: (error) => say({ title: "The test was not stopped", about: sentence(error) }),
  });
  return (
    <Button
      size="sm"
      icon={Square}
      busy={(stop.isPending || test.going?.stops === true) && "Stopping…"}
      onClick={() => stop.mutate()}
    >
      Stop
    </Button>
  );
}

/** A run of the live version with the chosen event, as if its trigger had brought it. */
function RunLive() {
  const { id, state, test } = useBuilder();
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const run = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/workflows/{id}/run", {
          params: { path: { id } },
          body: { event: asJson(test.event.value), wait: false },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      say({
        title: `${state.base.name} is running`,
        shape: "running",
        act: {
          label: "View run",
          onClick: () => void navigate({ to: "/runs/$id", params: { id: made.id } }),
        },
      });
    },
    onError: (error) => say({ title: "The run was not started", about: sentence(error) }),
  });
  if (state.base.deployment_id === null) return null;
  return (
    <Menu
      label="Runs"
      refused={refused}
      trigger={<IconButton icon={ChevronDown} size="sm" label="More ways to run" />}
    >
      <MenuItem disabled={run.isPending} onSelect={() => run.mutate()}>
        Run the live version with this event
      </MenuItem>
    </Menu>
  );
}

/** `onAll`: opens the list of all runs, or of all events of the source. */
function Choices({ onAll }: { onAll: (of: string) => void }) {
  const { id, draft, test } = useBuilder();
  const queries = useQueryClient();
  const { data: runs = [] } = useQuery(recentRunsQuery(id));
  const { data: kept = [] } = useQuery(keptEventsQuery(id, "$test"));
  const samples = samplesOf(id);
  const sources = draft.triggers.flatMap((each) =>
    each.kind === "source" && each.id !== "" ? [each.id] : [],
  );
  const name = useNamedEvent();
  const chooseRun = async (run: string) => {
    try {
      test.choose(await queries.fetchQuery(eventOfRunQuery(run)));
      name({ run });
    } catch (error) {
      say({ title: "The event could not be loaded", about: sentence(error) });
    }
  };
  return (
    <>
      <MenuItem
        onSelect={() => {
          test.choose(test.sample);
          name({});
        }}
      >
        {test.sample.from}
      </MenuItem>
      {runs.length > 0 && <MenuHead>Events of runs</MenuHead>}
      {runs.map((run) => (
        <MenuItem key={run.id} onSelect={() => void chooseRun(run.id)}>
          <Glyph status={statusOf(run.status)} small />
          <span className="num">{clock(run.created_at_ms)}</span>
          <span className="dim">{run.status}</span>
        </MenuItem>
      ))}
      {runs.length >= RUNS_OFFERED && <MenuItem onSelect={() => onAll(RUNS)}>All runs…</MenuItem>}
      {samples.length > 0 && <MenuHead>Edited in this browser</MenuHead>}
      {samples.map((sample) => (
        <MenuItem
          key={sample.id}
          onSelect={() => {
            test.choose(sample);
            name({});
          }}
        >
          <span className="cut">{sample.from}</span>
        </MenuItem>
      ))}
      {kept.length > 0 && <MenuHead>Test requests</MenuHead>}
      {kept.map((event) => (
        <MenuItem
          key={event.id}
          onSelect={() => {
            test.choose(keptEvent(event));
            name({});
          }}
        >
          <span className="num">{clock(event.indexed_at_ms)}</span>
        </MenuItem>
      ))}
      {[...new Set(sources)].map((source) => (
        <SourceEvents key={source} source={source} onAll={() => onAll(source)} />
      ))}
    </>
  );
}

function SourceEvents({ source, onAll }: { source: string; onAll: () => void }) {
  const { test, draft } = useBuilder();
  const name = useNamedEvent();
  const [first] = draft.triggers;
  const isFirst = first?.kind === "source" && first.id === source;
  const { data: events = [] } = useQuery(keptEventsQuery(source, undefined));
  const { data: sources } = useQuery(sourceNamesQuery);
  const sourceName = sources?.find(({ id }) => id === source)?.name;
  if (events.length === 0) return null;
  return (
    <>
      <MenuHead>Events of {sourceName ?? "the source"}</MenuHead>
      {events.map((event) => {
        const { summary } = event.metadata;
        return (
          <MenuItem
            key={event.id}
            onSelect={() => {
              test.choose(eventOfSource(event));
              // The address names events of the first trigger.
              name(isFirst ? { event: event.id } : {});
            }}
          >
            <span className="num">{clock(event.indexed_at_ms)}</span>
            <span className="dim cut">{typeof summary === "string" ? summary : ""}</span>
          </MenuItem>
        );
      })}
      {events.length >= EVENTS_OFFERED && (
        <MenuItem onSelect={onAll}>All events of {sourceName ?? "the source"}…</MenuItem>
      )}
    </>
  );
}

function EditEvent({ onClose }: { onClose: () => void }) {
  const { id, test } = useBuilder();
  const [text, setText, isTyped] = useKeptText(
    `dialog.event.${id}`,
    () => exactText(test.event.value, 2) ?? "{}",
  );
  const result = readJson(text);
  const take = () => {
    if (!("value" in result)) return;
    test.choose(keepSample(id, result.value));
    onClose();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Edit a copy of the event"
      about={test.event.from}
      size="wide"
      typed={isTyped}
      onSubmit={take}
      foot={
        <>
          <CloseDialog />
          <Button
            look="primary"
            keys="mod+enter"
            refused={"problem" in result ? result.problem : undefined}
            onClick={take}
          >
            Use this event
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <p className="mid">
          Steps read it as <code className="mono">steps.trigger.event</code>.
        </p>
        <Editor
          language="json"
          label="Event"
          value={text}
          onChange={setText}
          invalid={"problem" in result}
          minHeight={200}
          maxHeight="50dvh"
        />
        {"problem" in result && <Message error={result.problem} />}
      </div>
    </Dialog>
  );
}
