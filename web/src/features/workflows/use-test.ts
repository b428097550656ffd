/** Tests of the draft as it is typed, saved or not, with the chosen event. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useSearch } from "@tanstack/react-router";
import { useEffect, useMemo, useState } from "react";
import { client, data, exactData } from "~/api/client";
import { ApiError } from "~/api/errors";
import { eventQuery } from "~/api/events";
import type { JsonObject } from "~/api/json";
import { asJson, asJsonObject, type SentObject } from "~/api/json";
import { readRun } from "~/api/read-run";
import { isOver } from "~/api/run-stream";
import { errorOf, isFinal, runOf, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";
import { framesOf, ownFrame } from "~/api/stack";
import { forget, keep, keptOf, tabName } from "~/shell/kept";
import { clock } from "~/ui/format";
import { type Draft, draftOf, type StepDraft } from "./model";
import { usePins } from "./pins";
import { keptEventsQuery, recentRunsQuery, sampleEmitQuery } from "./queries";
import { requestOf, type StepRequest } from "./request";
import { type State, stepText, toSend } from "./state";
import type { Hand } from "./step-types";
import { contextOf, eventOfSource, sampleOf, type TestEvent } from "./test-event";
import { type UnderWay, underWayOf } from "./under-way";
import { invalidIn } from "./unfinished";
import { useGoing } from "./watch-test";

/** What a test said of one step, and the step as it was then. */
type Said = {
  run: Run;
  name: string;
  text: string | undefined;
  says: string;
  at: number;
  /** Id of the event that it had. */
  event: string;
  /** All steps as they were then. */
  steps: readonly StepDraft[];
};

/** State of a step in the newest test that ran it. */
export type StepTest = {
  status: "succeeded" | "failed" | "waiting";
  durationMs: number | undefined;
  /** The step is not any more as it was tested. */
  changed: boolean;
  message: string | undefined;
  /** Line of the step's own code that threw. */
  line: number | undefined;
};

/** All steps, those up to one, or one alone with the results that those before it had. */
export type TestOf = { kind: "all" } | { kind: "to" | "alone"; key: string };

/** A run of a test, and what was tested. */
type Tested = {
  run: Run;
  sent: Draft;
  tested: readonly StepDraft[];
  of: TestOf;
  to: number;
  used: string;
};

export function useTest(state: State, onRefused: (error: Error, sent: Draft) => void) {
  const queries = useQueryClient();
  /** The event that was chosen, and the run that the address named then. */
  const [picked, setPicked] = useState<{ event: TestEvent; asked: string | undefined }>();
  const [said, setSaid] = useState<Readonly<Record<string, Said>>>({});
  const { now } = state.history;
  const { pins, at: pinnedAt, pin, unpin } = usePins(state.base.id, now.steps);
  // The address may name a run: until its event is here there is none, not another one in its place.
  const { run: asked, event: askedEvent } = useSearch({ strict: false });
  const chosen = picked?.event;
  const wanted = picked === undefined || picked.asked !== asked ? asked : undefined;
  const ofAsked = useQuery({
    ...eventOfRunQuery(wanted ?? ""),
    enabled: wanted !== undefined,
    retry: false,
  });
  const [trigger] = now.triggers;
  const source = trigger?.kind === "source" && trigger.id !== "" ? trigger.id : undefined;
  const ofEvent = useQuery({
    ...eventQuery(source ?? "", askedEvent ?? ""),
    enabled:
      chosen === undefined &&
      asked === undefined &&
      askedEvent !== undefined &&
      source !== undefined,
    retry: false,
  });
  const wantedEvent = useMemo(
    () => (ofEvent.data === undefined ? undefined : eventOfSource(ofEvent.data)),
    [ofEvent.data],
  );
  const isOther =
    chosen === undefined &&
    (wanted === undefined || ofAsked.isError) &&
    (askedEvent === undefined || source === undefined || ofEvent.isError);
  const { data: runs, isLoading: readsRuns } = useQuery(recentRunsQuery(state.base.id));
  const [newest] = runs ?? [];
  const ofNewest = useQuery({
    ...eventOfRunQuery(newest?.id ?? ""),
    enabled: isOther && newest !== undefined,
  });
  const ofSource = useQuery({
    ...keptEventsQuery(source ?? "", undefined),
    enabled: isOther && runs !== undefined && newest === undefined && source !== undefined,
  });
  const { data: emitted } = ofSource;
  const newestEmitted = useMemo(() => emitted?.map(eventOfSource)[0], [emitted]);
  const { data: declared } = useQuery({
    ...sampleEmitQuery(source ?? ""),
    enabled: source !== undefined,
  });
  const sample = useMemo(() => sampleOf(trigger, declared), [trigger, declared]);
  const event = ofAsked.data ?? chosen ?? wantedEvent ?? ofNewest.data ?? newestEmitted ?? sample;
  const isReading =
    ofAsked.isLoading ||
    ofEvent.isLoading ||
    (isOther && (readsRuns || ofNewest.isLoading || ofSource.isLoading));

  /** What the newest test said of a step; before the first, what the chosen run did at it. */
  const saidOf = (key: string): Said | undefined => {
    if (said[key] !== undefined) return said[key];
    const step = now.steps.find((each) => each.key === key);
    return step === undefined ? undefined : saidByRun(chosen, step.namespace);
  };
  /** Exports of a step as it was last tested, or as the run of the chosen event had them. */
  const exportsOf = (key: string): JsonObject | undefined => {
    if (pins[key] !== undefined) return pins[key];
    const step = now.steps.find((each) => each.key === key);
    const entry = said[key];
    const tested = entry?.run.steps.flatMap(stepOf).find(({ name }) => name === entry.name);
    if (tested !== undefined && tested.status !== "failed") return tested.exports;
    return step === undefined ? undefined : event.results?.[step.namespace];
  };

  const { going, begin, end, follow, stop } = useGoing();
  const underWay = `test ${state.base.id} ${tabName()}`;
  // A run of which nothing is kept cannot be followed: its answer is all that there is of it.
  const keeps = state.base.settings.keep_data !== false;
  const noteResults = ({ run, sent, tested, of, to, used }: Tested) => {
    const at = Date.now();
    const says =
      of.kind === "all"
        ? "test of all steps"
        : of.kind === "alone"
          ? "test of this step"
          : `test up to ${sent.steps[to]?.namespace}`;
    // Until the run is over, and where it was stopped, what did not run to its end is as it was.
    const isStopped = run.status === "cancelled";
    const ended = new Set(
      run.steps
        .flatMap(stepOf)
        .filter(({ status }) => !isStopped || hasRun(status))
        .map(({ name }) => name),
    );
    const all = isOver(run) && !isStopped;
    const news = tested
      .filter(({ namespace }) => all || ended.has(namespace))
      .map((step): [string, Said] => {
        const { key, namespace: name } = step;
        const text = stepText(step);
        return [key, { run, name, text, says, at, event: used, steps: sent.steps }];
      });
    setSaid((before) => ({ ...before, ...Object.fromEntries(news) }));
  };
  const run = useMutation({
    mutationFn: async (asked: TestOf | UnderWay) => {
      const sent = now;
      if ("run" in asked) {
        const tested = sent.steps.slice(asked.from, asked.to + 1);
        begin(tested.map(({ namespace }) => namespace));
        const note = (run: Run) => noteResults({ ...asked, run, sent, tested });
        note(await follow(asked.run, note));
        return;
      }
      const of = asked;
      const used = event.id;
      const to = of.kind === "all" ? sent.steps.length - 1 : placeOf(sent, of.key);
      const from = of.kind === "alone" ? to : 0;
      const tested = sent.steps.slice(from, to + 1);
      const invalid = invalidIn(tested.filter(({ disabled }) => !disabled));
      if (invalid !== undefined) throw new Error(`Not tested: ${invalid}.`);
      begin(tested.map(({ namespace }) => namespace));
      const request = requestOf(toSend(state), state.base);
      const given: Record<string, SentObject> = {};
      const steps = request.steps.slice(0, to + 1).map((step, at) => {
        const key = sent.steps[at]?.key ?? "";
        // The step that is tested runs, pinned or not; those before it, and others of all, need not.
        const aside = of.kind === "all" || at < to;
        const before = of.kind === "alone" && at < to ? exportsOf(key) : undefined;
        const pinned = aside ? (pins[key] ?? before) : undefined;
        if (pinned === undefined) return step;
        const namespace = String(step.namespace);
        given[namespace] = asJsonObject(pinned);
        return atRest(namespace);
      });
      try {
        const made = await exactData<Run>(
          client.POST("/v1/workflows/test", {
            parseAs: "text",
            body: {
              workflow_id: state.base.id,
              triggers: request.triggers,
              steps,
              event: asJson(event.value),
              pins: given,
              wait: !keeps,
            },
          }),
        );
        const note = (run: Run) => noteResults({ run, sent, tested, of, to, used });
        if (keeps) keep(underWay, { run: made.id, of, from, to, used } satisfies UnderWay);
        note(keeps ? await follow(made.id, note) : await withLogs(made));
      } catch (error) {
        if (error instanceof Error) onRefused(error, sent);
        throw error;
      }
    },
    onSettled() {
      end();
      forget(underWay);
      void queries.invalidateQueries({ queryKey: ["runs"] });
    },
  });
  const { mutate } = run;
  // A page that was loaded again goes on watching.
  useEffect(() => {
    const kept = underWayOf(keptOf(underWay)?.value);
    if (kept !== undefined) mutate(kept);
  }, [underWay, mutate]);
  return {
    event,
    /** An event that is made up, by the kind of the trigger. */
    sample,
    /** The event that is shown or asked for is not here yet. */
    isReading,
    /** Grows with each test: what is at hand changed. */
    tests: Math.max(pinnedAt, ...Object.values(said).map(({ at }) => at)),
    choose(next: TestEvent) {
      setPicked({ event: next, asked });
      if (next.id === chosen?.id) return;
      // What a run did at its steps is shown in place of what was tested with another event.
      if (next.run !== undefined) setSaid({});
    },
    run,
    /** The test that is under way. */
    going,
    stop: keeps ? stop : undefined,
    pins,
    pin,
    unpin,
    said: saidOf,
    exportsOf,
    ofStep: (key: string) => stepTest(saidOf(key), now, key),
    /** `steps` as the code of a step sees them, as far as results are at hand. */
    dataFor(key: string): JsonObject {
      const context = contextOf(event, state.base);
      const known: JsonObject = { trigger: { event: event.value, context } };
      for (const step of now.steps.slice(0, placeOf(now, key))) {
        const exports = exportsOf(step.key);
        if (exports !== undefined) known[step.namespace] = exports;
      }
      return known;
    },
    /** The same for its types: a sample that is made up says nothing of what will come. */
    handFor(key: string): Hand {
      const before = now.steps.slice(0, placeOf(now, key));
      return {
        event: event.id === "sample" ? undefined : event.value,
        results: new Map(before.map((step) => [step.namespace, exportsOf(step.key)])),
      };
    },
    /** Whether a step can be tested alone: those before it have results of this event, or pins. */
    standsAlone(key: string): boolean {
      const before = now.steps.slice(0, placeOf(now, key)).filter(({ disabled }) => !disabled);
      const isOfEvent = (key: string) =>
        pins[key] !== undefined || said[key] === undefined || said[key].event === event.id;
      return (
        before.length > 0 &&
        before.every((step) => exportsOf(step.key) !== undefined && isOfEvent(step.key))
      );
    },
  };
}

function placeOf(draft: Draft, key: string): number {
  return draft.steps.findIndex((step) => step.key === key);
}

/** In the place of a step whose result is pinned: it does not run, and need not build either. */
export const atRest = (namespace: string): StepRequest => ({
  namespace,
  code: "export default defineComponent({ run() {} });",
});

/** The answer of a test has no log; its record does, unless nothing of runs is kept. */
async function withLogs(run: Run): Promise<Run> {
  try {
    return await readRun(run.id);
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return run;
    throw error;
  }
}

export const eventOfRunQuery = (id: string) => ({
  queryKey: ["run-event", id],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<TestEvent> => {
    const record = await readRun(id, signal);
    const run = runOf(record);
    const steps = await stepsOf(run.ownerId, run.deploymentId, signal);
    const results = run.steps.flatMap((step): [string, JsonObject][] =>
      step.status === "failed" ? [] : [[step.name, step.exports]],
    );
    return {
      id,
      from: `${isFinal(run.status) ? "Run that" : "Run that is"} ${run.status}, ${clock(run.acceptedAt)}`,
      value: run.event,
      results: Object.fromEntries(results),
      run: { record, steps },
    };
  },
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 60_000,
});

/** Steps of the version that a run had; `undefined` for one of a draft, or of a version that is gone. */
async function stepsOf(
  id: string,
  deployment: string | undefined,
  signal: AbortSignal,
): Promise<StepDraft[] | undefined> {
  if (deployment === undefined) return undefined;
  const path = { id, deployment };
  try {
    const version = await data(
      client.GET("/v1/workflows/{id}/deployments/{deployment}", { params: { path }, signal }),
    );
    return draftOf({ triggers: version.triggers ?? [], steps: version.steps }).steps;
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return undefined;
    throw error;
  }
}

/** What a run did at a step of this name. */
function saidByRun(event: TestEvent | undefined, name: string): Said | undefined {
  if (event?.run === undefined) return undefined;
  const { record, steps = [] } = event.run;
  if (!record.steps.flatMap(stepOf).some((step) => step.name === name)) return undefined;
  const then = steps.find(({ namespace }) => namespace === name);
  return {
    run: record,
    name,
    text: then === undefined ? undefined : stepText(then),
    says: "run",
    at: record.created_at_ms,
    event: event.id,
    steps,
  };
}

/** Name of the step at which a run failed. */
export function failedStep({ record }: { record: Run }): string | undefined {
  return errorOf(record.error, record.steps.flatMap(stepOf))?.step;
}

/** Whether a step of this status has a result. */
const hasRun = (status: string) => status !== "skipped" && status !== "failed";

function stepTest(said: Said | undefined, now: Draft, key: string): StepTest | undefined {
  if (said === undefined) return undefined;
  const present = now.steps.find((each) => each.key === key);
  const changed = present === undefined || stepText(present) !== said.text;
  const steps = said.run.steps.flatMap(stepOf);
  const result = steps.find(({ name }) => name === said.name);
  const error = errorOf(said.run.error, steps);
  const isStopped = said.run.status === "cancelled";
  if (error?.step === said.name && !isStopped) {
    return {
      status: "failed",
      durationMs: result?.durationMs,
      changed,
      message: `${error.code}: ${error.message}`,
      line: ownFrame(framesOf(error.stack))?.line,
    };
  }
  return {
    status: result === undefined || !hasRun(result.status) ? "waiting" : "succeeded",
    durationMs: result?.durationMs,
    changed,
    message: undefined,
    line: undefined,
  };
}
