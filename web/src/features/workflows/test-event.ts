/** Events that a workflow is tested with: made up by the kind of its trigger, or real ones. Pure. */

import type { JsonObject } from "~/api/json";
import type { EventSummary, Run, Workflow } from "~/api/schema";
import { clock } from "~/ui/format";
import type { StepDraft, TriggerDraft } from "./model";

/** Said where a test is asked for before its event is here. */
export const READING = "The event is still being read.";

export type TestEvent = {
  /** Where it is from, in words. */
  from: string;
  value: unknown;
  /** Exports of the steps of the run that it is of, by their names. */
  results?: Readonly<Record<string, JsonObject>>;
  /** The run that it is of, and the steps as its version had them. */
  run?: { record: Run; steps: StepDraft[] | undefined };
  /** Identity among the events that can be chosen. */
  id: string;
};

/** `declared`: the example that the component of the source has (`sampleEmit`). */
export function sampleOf(trigger: TriggerDraft | undefined, declared?: unknown): TestEvent {
  switch (trigger?.kind) {
    case "http":
      return {
        id: "sample",
        from: "Sample request",
        value: {
          method: "POST",
          path: "/",
          query: {},
          headers: { "content-type": "application/json" },
          client_ip: "127.0.0.1",
          body: { hello: "world" },
        },
      };
    case "timer": {
      const at = new Date();
      const timestamp = Math.floor(at.getTime() / 1_000);
      return {
        id: "sample",
        from: "Sample tick",
        value:
          trigger.cron === undefined
            ? { timestamp, interval_seconds: trigger.seconds }
            : {
                timestamp,
                cron: trigger.cron,
                timezone_configured: {
                  timezone: trigger.zone,
                  iso8601: { timestamp: at.toISOString() },
                },
              },
      };
    }
    default:
      return declared === undefined || declared === null
        ? { id: "sample", from: "Empty event", value: {} }
        : { id: "sample", from: "Sample event of the source", value: declared };
  }
}

const OPENED_AT = new Date().toISOString();

/** What the code finds as `steps.trigger.context`: that of the event's run, or one made up like that of a test. */
export function contextOf(
  { run }: TestEvent,
  workflow: Pick<Workflow, "id" | "name" | "org_id" | "project_id">,
): JsonObject {
  return {
    id: "id-of-the-run",
    trace_id: "id-of-the-run",
    ts: OPENED_AT,
    workflow_id: workflow.id,
    workflow_name: workflow.name,
    deployment_id: "",
    emitter_id: "",
    source_type: "SDK",
    verified: false,
    hops: null,
    test: true,
    replay: false,
    owner_id: workflow.org_id,
    project_id: workflow.project_id,
    platform_version: "",
    ...run?.record.context,
  };
}

/** An event that a source emitted, by its summary. */
export function eventOfSource(event: EventSummary): TestEvent {
  const { summary } = event.metadata;
  const text = typeof summary === "string" ? summary : "";
  return {
    id: event.id,
    from: text === "" ? `Event ${clock(event.indexed_at_ms)}` : text,
    value: event.event,
  };
}

/** An event that a request kept for tests. */
export function keptEvent({ id, indexed_at_ms, event }: EventSummary): TestEvent {
  return { id, from: `Test event ${clock(indexed_at_ms)}`, value: event };
}
