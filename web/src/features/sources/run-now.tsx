/** Dialog that runs a source at once, or emits an event for it, with a given event. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useRef, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { asJson, isObject } from "~/api/json";
import type { Json, Source } from "~/api/schema";
import { useKeptField } from "~/shell/kept-text";
import { Button } from "~/ui/button";
import { Editor } from "~/ui/code/editor";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Message } from "~/ui/field";
import { readJson } from "~/ui/json/problem";
import { Segments } from "~/ui/pane";
import { say } from "~/ui/toast";
import { worded } from "~/ui/worded";
import { componentOfId } from "./queries";
import { sentTo } from "./sent-to";

/** What the source is run with: for HTTP a request to begin with, else nothing. */
function firstEvent(source: Source): string {
  const http = source.interfaces.some((each) => isObject(each) && each.type === "http");
  return http
    ? JSON.stringify(
        { method: "POST", path: "/", query: {}, headers: {}, body: { hello: "world" } },
        null,
        2,
      )
    : "{}";
}

type Way = "run" | "emit";

/** Opens once the component is read, whose sample is the first event that is emitted. */
export function RunNow({ source, onClose }: { source: Source; onClose: () => void }) {
  const { data: component, isPending } = useQuery(componentOfId(source.component_id));
  if (isPending) return null;
  return <RunDialog source={source} sample={component?.sample_emit} onClose={onClose} />;
}

function RunDialog({
  source,
  sample,
  onClose,
}: {
  source: Source;
  sample: Json | undefined;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const [way, setWay] = useState<Way>("run");
  const hasSample = sample !== undefined && sample !== null;
  const [firsts] = useState(() => ({
    run: firstEvent(source),
    emit: hasSample ? JSON.stringify(sample, null, 2) : "{}",
  }));
  // Kept when the dialog closes and after a run: the next try begins with the same event. The code
  // gets another event than it emits.
  const events = {
    run: useKeptField(`dialog.run-now.${source.id}`, firsts.run),
    emit: useKeptField(`dialog.run-now.${source.id}.emit`, firsts.emit),
  };
  const first = firsts[way];
  const { text, set, done } = events[way];
  const go = useRef<HTMLButtonElement>(null);
  const event = parsed(text);
  const emit = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources/{id}/events", {
          params: { path: { id: source.id } },
          body: { event: "value" in event ? asJson(event.value) : {} },
        }),
      ),
    onSuccess: (passed) => {
      void queries.invalidateQueries({ queryKey: ["source", source.id] });
      onClose();
      say({ title: sentTo(passed), shape: "running" });
    },
  });
  const run = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources/{id}/run", {
          params: { path: { id: source.id } },
          body: "value" in event ? { event: asJson(event.value) } : {},
        }),
      ),
    onSuccess: (made) => {
      onClose();
      say({
        title: `${source.name} is running`,
        shape: "running",
        act: {
          label: "View run",
          onClick: () => void navigate({ to: "/runs/$id", params: { id: made.id } }),
        },
      });
    },
  });
  const error = way === "run" ? run.error : emit.error;
  const submit = () => {
    if ("value" in event) (way === "run" ? run : emit).mutate();
  };
  return (
    <Dialog
      open
      onClose={onClose}
      title="Run now"
      about={source.name}
      size="middle"
      typed={false}
      initialFocus={go}
      onSubmit={submit}
      foot={
        <>
          {text !== first && (
            <Button
              onClick={() => {
                done(first);
                // The button is gone with the text.
                go.current?.focus();
              }}
            >
              Reset the event
            </Button>
          )}
          <span className="grow" />
          <CloseDialog />
          <Button
            ref={go}
            look="primary"
            icon={Play}
            keys="mod+enter"
            busy={(run.isPending && "Running…") || (emit.isPending && "Emitting…")}
            refused={"problem" in event ? event.problem : undefined}
            onClick={submit}
          >
            {way === "run" ? "Run now" : "Emit event"}
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <Segments
          label="What to do with the event"
          value={way}
          onChange={setWay}
          choices={[
            ["run", "Run the code"],
            ["emit", "Emit event as it is"],
          ]}
        />
        <p className="mid">
          {way === "run"
            ? "Its code runs once, with this event. What it emits goes to the listeners."
            : "The listeners receive this event, as if its code had emitted it. Its code does not run."}
          {way === "emit" &&
            hasSample &&
            text === first &&
            " It is the sample event of the component."}
        </p>
        <Editor
          key={way}
          language="json"
          label="Event"
          value={text}
          onChange={set}
          invalid={"problem" in event}
          minHeight={120}
          maxHeight="40dvh"
        />
        {"problem" in event && <Message error={event.problem} />}
        {error !== null && (
          <p role="alert" className="failed-text">
            {worded(sentence(error))}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function parsed(text: string): { value: unknown } | { problem: string } {
  return text.trim() === "" ? { value: {} } : readJson(text);
}
