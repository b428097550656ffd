/** The event of a run as JSON. An error event may hold its run's event and results cut: the run has them whole. */

import { useQuery } from "@tanstack/react-query";
import { type ComponentProps, useMemo, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { isObject, objectOf, textOf } from "~/api/json";
import { readRun } from "~/api/read-run";
import { type RunDetail, runOf } from "~/api/runs";
import { Button } from "~/ui/button";
import { JsonInspector } from "~/ui/json/json-inspector";
import { isCut } from "~/ui/json/model";

export function EventInspector({ value, ...given }: ComponentProps<typeof JsonInspector>) {
  const [asked, setAsked] = useState(false);
  const failed = useMemo(() => failedIn(value), [value]);
  const { data: run, error } = useQuery({
    queryKey: ["run", "of-error", failed?.id],
    queryFn: ({ signal }) => runOfError(failed, signal),
    enabled: asked && failed !== undefined,
    retry: false,
  });
  const whole = useMemo(() => {
    if (run === undefined) return undefined;
    const { event, steps } = run;
    return {
      ...objectOf(value),
      original_event: event,
      steps: Object.fromEntries(steps.map(({ name, exports }) => [name, exports])),
    };
  }, [value, run]);
  return (
    <>
      {failed !== undefined && whole === undefined && (
        <p className="event-cut small mid" role="status">
          {error === null
            ? "The event and the results of the failed run are truncated here."
            : sentence(error)}{" "}
          <Button
            size="sm"
            busy={asked && error === null && "Loading…"}
            onClick={() => setAsked(true)}
          >
            Load all
          </Button>
        </p>
      )}
      <JsonInspector
        key={whole === undefined ? "cut" : "whole"}
        value={whole ?? value}
        {...given}
      />
    </>
  );
}

/** As far as the runs of one event are looked at for the one that failed. */
const RUNS_MAX = 20;

type Failed = { id: string; trace: string; owner: string };

/** Of which run an error event is, where the event does not hold all that the run has. */
function failedIn(value: unknown): Failed | undefined {
  if (!isObject(value) || !isObject(value.original_context) || !isObject(value.error)) {
    return undefined;
  }
  if (!isCut(value.original_event) && !isCut(value.steps)) return undefined;
  const { id, trace_id, workflow_id } = value.original_context;
  const [of, trace, owner] = [textOf(id), textOf(trace_id), textOf(workflow_id)];
  if (of === undefined || trace === undefined || owner === undefined) return undefined;
  return { id: of, trace, owner };
}

/** Runs are found by their trace; which of them failed so is said by its context. */
async function runOfError(failed: Failed | undefined, signal: AbortSignal): Promise<RunDetail> {
  const query = {
    trace_id: failed?.trace ?? "",
    owner_id: failed?.owner ?? "",
    status: "failed",
    limit: RUNS_MAX,
    include: "id",
  };
  const found = await data(client.GET("/v1/runs", { params: { query }, signal }));
  for (const { id } of found) {
    const run = runOf(await readRun(id, signal));
    if (run.context.id === failed?.id) return run;
  }
  throw new Error("The failed run was pruned.");
}
