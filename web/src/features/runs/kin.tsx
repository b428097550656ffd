/**
 * Runs of the same event: the run whose event started this one, and those that its own events
 * started.
 */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { Fragment } from "react";
import { body, client } from "~/api/client";
import { sentence } from "~/api/errors";
import { textOf } from "~/api/json";
import { ALL_MAX, allOf, PAGE_MAX } from "~/api/queries";
import { isFinal, type RunDetail } from "~/api/runs";
import { useLive } from "~/api/stream";
import { Skeleton } from "~/ui/banner";
import { count, shortId } from "~/ui/format";
import { Fact } from "~/ui/pane";
import { type KinRun, kinOf } from "./kin-of";

const SHOWN_MAX = 3;

const traceQuery = (trace: string) => ({
  queryKey: ["runs", "of-trace", trace],
  queryFn: async ({ signal }: { signal: AbortSignal }): Promise<KinRun[]> => {
    const of = {
      trace_id: trace,
      include: "id,workflow_id,source_id,owner_name,trigger_id,replay_of,created_at_ms",
    };
    const found = await allOf((page) =>
      body(client.GET("/v1/runs", { params: { query: { ...of, ...page } }, signal })),
    );
    return found.map((run) => ({
      id: run.id,
      owner: run.workflow_id ?? run.source_id ?? "",
      name: run.owner_name ?? "",
      trigger: run.trigger_id,
      replayOf: run.replay_of ?? undefined,
      at: run.created_at_ms,
    }));
  },
});

/** The runs of the same event as `run`; none is looked for where it has no trace. */
function useKin(run: RunDetail) {
  const trace = textOf(run.context.trace_id) ?? "";
  const goesOn = !isFinal(run.status);
  const found = useQuery({ ...traceQuery(trace), enabled: trace !== "" });
  // What takes several requests is not read again with each run of the organization.
  const isLong = (found.data?.length ?? 0) >= PAGE_MAX;
  useLive(goesOn && !isLong ? "runs" : undefined, traceQuery(trace).queryKey);
  return found;
}

export function Kin({ run }: { run: RunDetail }) {
  const { data: all, error } = useKin(run);
  const trace = textOf(run.context.trace_id) ?? "";
  if (trace === "") return null;
  return (
    <Fact name="Related runs" line>
      {all !== undefined ? (
        <Found run={run} all={all} trace={trace} />
      ) : error === null ? (
        <Skeleton width={120} />
      ) : (
        <span className="dim">{sentence(error)}</span>
      )}
    </Fact>
  );
}

function Found({ run, all, trace }: { run: RunDetail; all: KinRun[]; trace: string }) {
  const { cause, caused } = kinOf(run.id, all);
  const rest = caused.length - SHOWN_MAX;
  if (cause === undefined && caused.length === 0) return <span className="dim">none</span>;
  return (
    <>
      {cause !== undefined && (
        <>
          caused by <OneOfKin run={cause} />
        </>
      )}
      {cause !== undefined && caused.length > 0 && "; "}
      {caused.length > 0 && (
        <>
          caused{" "}
          {caused.slice(0, SHOWN_MAX).map((each, at) => (
            <Fragment key={each.id}>
              {at > 0 && ", "}
              <OneOfKin run={each} />
            </Fragment>
          ))}
          {rest > 0 && (
            <>
              {" "}
              <Link to="/runs" search={{ trace }} className="link">
                and {count(rest)}
                {all.length >= ALL_MAX && " or"} more
              </Link>
            </>
          )}
        </>
      )}
    </>
  );
}

function OneOfKin({ run }: { run: KinRun }) {
  return (
    <>
      {run.name}{" "}
      <Link to="/runs/$id" params={{ id: run.id }} className="link mono">
        {shortId(run.id)}
      </Link>
    </>
  );
}
