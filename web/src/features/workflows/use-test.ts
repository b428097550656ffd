/** Tests of the draft as it is typed, saved or not, with the chosen event. */

import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useState } from "react";
import { client, data } from "~/api/client";
import { ApiError } from "~/api/errors";
import { errorOf, runOf, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";
import { framesOf, ownFrame } from "~/api/stack";
import { type Draft, requestOf, savedStepsOf } from "./model";
import { recentRunsQuery } from "./queries";
import { type State, stepText, toSend } from "./state";
import { sampleOf, type TestEvent } from "./test-event";

export type Tested = { run: Run; of: Draft; at: number; upTo: string | undefined };

/** State of a step in the newest test. */
export type StepTest = {
  status: "succeeded" | "failed" | "waiting";
  durationMs: number | undefined;
  /** The step is not any more as it was tested. */
  changed: boolean;
  message: string | undefined;
  /** Line of the step's own code that threw. */
  line: number | undefined;
};

export function useTest(state: State, onRefused: (error: Error, sent: Draft) => void) {
  const queries = useQueryClient();
  const [chosen, setChosen] = useState<TestEvent | undefined>(undefined);
  const [tested, setTested] = useState<Tested | undefined>(undefined);
  const { now } = state.history;
  const { data: runs } = useQuery(recentRunsQuery(state.base.id));
  const newest = runs?.find(({ kind }) => kind === "live");
  const { data: newestRun } = useQuery({
    ...eventOfRunQuery(newest?.id ?? ""),
    enabled: chosen === undefined && newest !== undefined,
  });
  const event = chosen ?? newestRun ?? sampleOf(now.triggers[0]);
  const run = useMutation({
    mutationFn: async (upTo: string | undefined) => {
      const sent = now;
      const request = requestOf(toSend(state), savedStepsOf(state.base.steps));
      try {
        const made = await data(
          client.POST("/v1/workflows/test", {
            body: {
              workflow_id: state.base.id,
              ...request,
              event: event.value,
              ...(upTo === undefined ? {} : { up_to: upTo }),
            },
          }),
        );
        return { run: await withLogs(made), of: sent, at: Date.now(), upTo };
      } catch (error) {
        if (error instanceof Error) onRefused(error, sent);
        throw error;
      }
    },
    onSuccess: (made) => {
      setTested(made);
      void queries.invalidateQueries({ queryKey: ["runs"] });
    },
  });
  return {
    event,
    /** The event was not chosen by hand: a real one that comes takes its place. */
    choose: (next: TestEvent) => setChosen(next),
    tested,
    run,
    ofStep: (key: string) => stepTest(tested, now, key),
  };
}

/** The answer of a test has no log; its record does, unless nothing of runs is kept. */
async function withLogs(run: Run): Promise<Run> {
  try {
    return await data(client.GET("/v1/runs/{id}", { params: { path: { id: run.id } } }));
  } catch (error) {
    if (error instanceof ApiError && error.status === 404) return run;
    throw error;
  }
}

export const eventOfRunQuery = (id: string) => ({
  queryKey: ["run-event", id],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<TestEvent> => {
    const run = runOf(
      await data(client.GET("/v1/runs/{id}", { params: { path: { id } }, signal })),
    );
    return { id, from: `Run ${run.status}`, value: run.event };
  },
  staleTime: Number.POSITIVE_INFINITY,
  gcTime: 60_000,
});

function stepTest(tested: Tested | undefined, now: Draft, key: string): StepTest | undefined {
  const step = tested?.of.steps.find((each) => each.key === key);
  if (tested === undefined || step === undefined) return undefined;
  const present = now.steps.find((each) => each.key === key);
  const changed = present === undefined || stepText(present) !== stepText(step);
  const steps = tested.run.steps.flatMap(stepOf);
  const result = steps.find(({ name }) => name === step.namespace);
  const error = errorOf(tested.run.error, steps);
  if (error?.step === step.namespace) {
    const frame = ownFrame(framesOf(error.stack));
    return {
      status: "failed",
      durationMs: result?.durationMs,
      changed,
      message: `${error.code}: ${error.message}`,
      line: frame?.line,
    };
  }
  return {
    status: result === undefined || result.status === "skipped" ? "waiting" : "succeeded",
    durationMs: result?.durationMs,
    changed,
    message: undefined,
    line: undefined,
  };
}
