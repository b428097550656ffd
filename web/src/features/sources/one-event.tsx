/** Single event of a source: its payload, a comparison with another event, and sending it again. */

import { useMutation, useQuery } from "@tanstack/react-query";
import { GitCompare, RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { eventQuery } from "~/api/events";
import type { EventSummary } from "~/api/schema";
import { exactText } from "~/json/exact";
import { ActLink } from "~/shell/act-link";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { SkeletonRows } from "~/ui/banner";
import { Button } from "~/ui/button";
import { Copy } from "~/ui/copy";
import { Confirm } from "~/ui/dialog";
import { shortId } from "~/ui/format";
import { JsonInspector } from "~/ui/json/json-inspector";
import { PaneHead } from "~/ui/pane";
import { say } from "~/ui/toast";
import { CompareEvents, type Found } from "./compare-events";
import { sentTo } from "./sent-to";

export function OneEvent({
  source,
  found,
  base,
  onBase,
}: {
  source: string;
  found: Found;
  /** The event that others are held against. */
  base: Found | undefined;
  onBase: (event: Found | undefined) => void;
}) {
  const { id, words } = found;
  const {
    data: event,
    error,
    refetch,
  } = useQuery({ ...eventQuery(source, id, words), retry: false });
  return (
    <>
      <PaneHead title="Event" hint={<span className="mono">{shortIdOf(event, id)}</span>}>
        {event !== undefined && (
          <>
            <Button
              size="sm"
              look="quiet"
              icon={GitCompare}
              aria-pressed={base !== undefined}
              onClick={() => onBase(base === undefined ? found : undefined)}
            >
              {base === undefined ? "Compare" : "Stop comparing"}
            </Button>
            <Copy label="Copy event" text={() => exactText(event.event, 2) ?? ""} />
            <SendAgain source={source} id={id} />
          </>
        )}
      </PaneHead>
      {event !== undefined && base === undefined && (
        <p className="event-use small">
          <ActLink to="/workflows/new" search={{ source, event: id }} needs="deploy" look="text">
            Create a workflow from this event
          </ActLink>
        </p>
      )}
      {base?.id === id && (
        <p className="event-use small mid" role="status">
          Select the event to compare this one with.
        </p>
      )}
      {base !== undefined && base.id !== id && (
        <CompareEvents source={source} before={base} after={found} />
      )}
      {error !== null && <ReadFailed what="The event" error={error} again={refetch} />}
      {event === undefined && error === null && <SkeletonRows height={20} />}
      {event !== undefined && (base === undefined || base.id === id) && (
        <JsonInspector value={event.event} base="steps.trigger.event" label="Event" />
      )}
    </>
  );
}

/** Whoever listens now gets the event once more. */
function SendAgain({ source, id }: { source: string; id: string }) {
  const refused = useRefusal("invoke");
  const [asks, setAsks] = useState(false);
  const send = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/sources/{id}/events/{event}/replay", {
          params: { path: { id: source, event: id } },
          body: {},
        }),
      ),
    onSuccess: (passed) => {
      setAsks(false);
      say({ title: sentTo(passed), shape: "running" });
    },
  });
  return (
    <>
      <Button size="sm" icon={RotateCcw} refused={refused} onClick={() => setAsks(true)}>
        Send again…
      </Button>
      <Confirm
        open={asks}
        onClose={() => setAsks(false)}
        title="Send this event again?"
        act="Send again"
        look="primary"
        keep="Close"
        busy={send.isPending && "Sending…"}
        error={send.error === null ? undefined : sentence(send.error)}
        onConfirm={() => send.mutate()}
      >
        <p>The current listeners receive it once more. The code of the source does not run.</p>
      </Confirm>
    </>
  );
}

function shortIdOf(event: EventSummary | undefined, id: string): string {
  const own = event?.metadata.id;
  return own === undefined || own === null ? shortId(id) : String(own);
}
