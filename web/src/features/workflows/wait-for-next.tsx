/** Waiting for the next event that comes: of a run, or of a request that asks to be kept for tests. */

import { useQuery } from "@tanstack/react-query";
import { Hourglass } from "lucide-react";
import { useEffect, useRef, useState } from "react";
import { useLive } from "~/api/stream";
import { Button } from "~/ui/button";
import { say } from "~/ui/toast";
import type { Draft } from "./model";
import { keptEventsQuery, recentRunsQuery } from "./queries";
import { keptEvent, READING, type TestEvent } from "./test-event";
import { useBuilder } from "./use-builder";
import { useNamedEvent } from "./use-named-event";
import { eventOfRunQuery } from "./use-test";

/** The newest run and kept event as it began to wait. */
type Before = { run: string | undefined; kept: string | undefined };

export function WaitForNext() {
  const { id, state, draft, test } = useBuilder();
  const [before, setBefore] = useState<Before | undefined>(undefined);
  const waits = before !== undefined;
  const { data: runs } = useQuery(recentRunsQuery(id));
  const { data: kept } = useQuery({
    ...keptEventsQuery(id, "$test"),
    enabled: state.base.deployment_id !== null,
  });
  useLive(waits ? "runs" : undefined, recentRunsQuery(id).queryKey);
  useLive(waits ? `events:${id}` : undefined, keptEventsQuery(id, "$test").queryKey);
  const isRead = runs !== undefined && kept !== undefined;
  const [run, event] = [runs?.[0]?.id, kept?.[0]];
  const came = waits && run !== undefined && run !== before.run ? run : undefined;
  const ofRun = useQuery({ ...eventOfRunQuery(came ?? ""), enabled: came !== undefined }).data;
  const ofRequest = waits && event !== undefined && event.id !== before.kept ? event : undefined;
  const name = useNamedEvent();
  const take = useRef<(event: TestEvent) => void>(() => {});
  take.current = (event) => {
    setBefore(undefined);
    test.choose(event);
    name(event.run === undefined ? {} : { run: event.id });
    say({ title: "An event arrived", about: event.from, shape: "succeeded" });
  };
  useEffect(() => {
    if (ofRun !== undefined) take.current(ofRun);
  }, [ofRun]);
  useEffect(() => {
    if (ofRequest !== undefined) take.current(keptEvent(ofRequest));
  }, [ofRequest]);
  if (draft.triggers.length === 0) return null;
  const says = waits ? "Waiting, press to stop" : "Wait for the next event";
  return (
    <Button
      size="sm"
      look="quiet"
      icon={Hourglass}
      aria-pressed={waits}
      aria-label={says}
      title={says}
      refused={whyNothingComes(state.base, draft) ?? (isRead ? undefined : READING)}
      onClick={() => setBefore(waits ? undefined : { run, kept: event?.id })}
    >
      <span className="only-wide">{says}</span>
    </Button>
  );
}

/** Why no event can come, and what to do. */
function whyNothingComes(
  base: { deployment_id: string | null; active: boolean },
  { triggers }: Draft,
): string | undefined {
  if (base.deployment_id === null) {
    const what = triggers.some(({ kind }) => kind === "http")
      ? "The URL accepts requests from the first deploy on"
      : "Events arrive after the first deploy";
    return `${what}. Deploy the draft; until then, edit a copy of the event.`;
  }
  return base.active ? undefined : "The workflow is off and accepts no events. Switch it on.";
}
