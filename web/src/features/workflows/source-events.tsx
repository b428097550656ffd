/** Newest events of a trigger's source, updated live, and ways to make its first event. */

import { line } from "~/shell/command-line";
import { ShellBlock } from "~/shell/shell-block";
import "./source-events.css";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Play } from "lucide-react";
import { useEffect } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject, textOf } from "~/api/json";
import type { Source } from "~/api/schema";
import { useLive } from "~/api/stream";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { clock } from "~/ui/format";
import { PaneHead } from "~/ui/pane";
import { say } from "~/ui/toast";
import { keptEventsQuery, newestEventsQuery, sourceQuery } from "./queries";
import { eventOfSource } from "./test-event";
import { useBuilder } from "./use-builder";

function endpointOf(source: Source): string | undefined {
  for (const value of Object.values(source.configured_props)) {
    const endpoint = isObject(value) ? textOf(value.endpoint_url) : undefined;
    if (endpoint !== undefined) return endpoint;
  }
  return undefined;
}

export function SourceEvents({ source, eventName }: { source: string; eventName: string }) {
  const { test } = useBuilder();
  const queries = useQueryClient();
  const { data: record, error: gone, refetch: readSource } = useQuery(sourceQuery(source));
  const {
    data: events,
    error,
    refetch: readEvents,
  } = useQuery(newestEventsQuery(source, eventName));
  useLive(`events:${source}`, ["newest-events", source]);
  const newest = events?.[0]?.id;
  useEffect(() => {
    // Tests begin with the newest event until another one is chosen.
    if (newest !== undefined) void queries.invalidateQueries({ queryKey: ["events", source] });
  }, [newest, queries, source]);
  const take = async (id: string) => {
    try {
      const whole = await queries.fetchQuery(keptEventsQuery(source, undefined));
      const event = whole.find((each) => each.id === id);
      if (event !== undefined) test.choose(eventOfSource(event));
    } catch (error) {
      say({ title: "The event could not be loaded", about: sentence(error) });
    }
  };
  const wrong = gone ?? error;
  const again = () => Promise.all([readSource(), readEvents()]);
  return (
    <section className="src-events" aria-label="Events of the source">
      <PaneHead title="Events" hint={events === undefined ? undefined : "live, newest first"}>
        <Link to="/sources/$id" params={{ id: source }} className="link small">
          Open source
        </Link>
      </PaneHead>
      {wrong !== null && <ReadFailed what="The source" error={wrong} again={again} />}
      <p className="sr" role="status">
        {events !== undefined &&
          events.length > 0 &&
          `The newest event: ${clock(events[0]?.indexed_at_ms ?? 0)}`}
      </p>
      {events !== undefined && events.length > 0 && (
        <ul className="src-event-list">
          {events.map(({ id, indexed_at_ms, metadata }) => (
            <li key={id}>
              <button
                type="button"
                aria-pressed={test.event.id === id}
                onClick={() => void take(id)}
              >
                <span className="num mid">{clock(indexed_at_ms)}</span>
                <span className="cut">
                  {textOf(metadata.summary) ?? <span className="dim">no summary</span>}
                </span>
                <span className="small dim">
                  {test.event.id === id ? "tested with" : "Test with this"}
                </span>
              </button>
            </li>
          ))}
        </ul>
      )}
      {events !== undefined && events.length === 0 && record !== undefined && (
        <NoEvent source={record} />
      )}
    </section>
  );
}

function NoEvent({ source }: { source: Source }) {
  const refused = useRefusal("invoke");
  const endpoint = endpointOf(source);
  const run = useMutation({
    mutationFn: () =>
      data(client.POST("/v1/sources/{id}/run", { params: { path: { id: source.id } }, body: {} })),
    onSuccess: () => say({ title: `${source.name} is running`, shape: "running" }),
    onError: (error) => say({ title: "The run was not started", about: sentence(error) }),
  });
  if (endpoint !== undefined) {
    const curl = line`curl ${endpoint} -H 'Content-Type: application/json' -d '{"hello": "world"}'`;
    return (
      <div className="bld-none">
        <p className="mid">No events yet. Send it a request:</p>
        <ShellBlock text={curl} />
      </div>
    );
  }
  return (
    <div className="bld-none">
      <p className="mid">
        {source.active
          ? "No events yet. It emits on schedule, or when you run it now."
          : (source.inactive_reason ?? "No events yet. The source is off.")}
      </p>
      <div>
        <Button
          size="sm"
          icon={Play}
          refused={refused}
          busy={run.isPending && "Running…"}
          onClick={() => run.mutate()}
        >
          Run now
        </Button>
      </div>
    </div>
  );
}
