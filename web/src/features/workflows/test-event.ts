/** Events that a workflow is tested with: made up by the kind of its trigger, or real ones. Pure. */

import type { JsonObject } from "~/api/json";
import type { EventSummary, Run, Workflow } from "~/api/schema";
import { clock } from "~/ui/format";
import type { StepDraft, TriggerDraft } from "./model";

/** Said where a test is asked for before its event is here. */
export const READING = "The event is still loading.";

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
        value: {
          timestamp,
          ...(trigger.cron === undefined
            ? { interval_seconds: trigger.seconds }
            : { cron: trigger.cron }),
          timezone_configured: shownIn(trigger.cron === undefined ? "UTC" : trigger.zone, at),
          timezone_utc: shownIn("UTC", at),
        },
      };
    }
    default:
      return declared === undefined || declared === null
        ? { id: "sample", from: "Empty event", value: {} }
        : { id: "sample", from: "Sample event of the source", value: declared };
  }
}

/** A time as a clock in a time zone shows it: the whole, its day, and its time of day. */
function shownIn(timezone: string, at: Date) {
  const parts = new Intl.DateTimeFormat("en", {
    timeZone: timezone,
    hourCycle: "h23",
    year: "numeric",
    month: "2-digit",
    day: "2-digit",
    hour: "2-digit",
    minute: "2-digit",
    second: "2-digit",
    timeZoneName: "longOffset",
  }).formatToParts(at);
  const part = (type: Intl.DateTimeFormatPartTypes) =>
    parts.find((each) => each.type === type)?.value ?? "";
  const offset = part("timeZoneName").replace("GMT", "");
  const date = `${part("year")}-${part("month")}-${part("day")}`;
  const time = `${part("hour")}:${part("minute")}:${part("second")}.000${offset === "" ? "Z" : offset}`;
  return { timezone, iso8601: { timestamp: `${date}T${time}`, date, time } };
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
