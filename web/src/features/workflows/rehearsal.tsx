/**
 * Rehearsal of the draft with the last real events before a deploy: equal results, different ones,
 * and new errors.
 */

import { useMutation } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { ListChecks } from "lucide-react";
import { useState } from "react";
import { client, data, exactData } from "~/api/client";
import { sentence } from "~/api/errors";
import { asJsonObject, type JsonObject } from "~/api/json";
import { readRun } from "~/api/read-run";
import { stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { clock, plural, shortId } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { type Outcome, outcomeOf, outcomeWords, reachOf, withAccounts } from "./rehearse";
import type { Renames } from "./renames";
import { requestOf } from "./request";
import { toSend } from "./state";
import { useBuilder } from "./use-builder";
import { atRest } from "./use-test";

const EVENTS_MAX = 10;

type Row = {
  before: Run;
  outcome: Outcome | "refused";
  step: string | undefined;
  now: string | undefined;
  problem?: string;
};

const shapes = {
  same: "succeeded",
  passes: "succeeded",
  differs: "kept",
  throws: "failed",
  "throws-too": "failed",
  refused: "failed",
  stops: "kept",
} as const satisfies Record<Row["outcome"], string>;

/** `steps`: those of the draft, as a record has them; `renames`: of steps that are live. */
export function Rehearsal({ steps, renames }: { steps: readonly unknown[]; renames: Renames }) {
  const { id, state } = useBuilder();
  const refused = useRefusal("deploy");
  const [rows, setRows] = useState<Row[]>([]);
  const pinned = withAccounts(steps);
  const rehearse = useMutation({
    mutationFn: async () => {
      setRows([]);
      const real = await data(
        client.GET("/v1/runs", {
          params: {
            query: {
              owner_id: id,
              kind: "live",
              status: "succeeded,failed",
              limit: EVENTS_MAX,
              include: "id",
            },
          },
        }),
      );
      for (const { id: run } of real) {
        const row = await one(await readRun(run));
        setRows((had) => [...had, row]);
      }
      return real.length;
    },
  });
  const one = async (before: Run): Promise<Row> => {
    const { triggers, steps } = requestOf(toSend(state), state.base);
    const recorded = new Map(before.steps.flatMap(stepOf).map((step) => [step.name, step]));
    const pins: Record<string, JsonObject> = {};
    for (const name of pinned) {
      const was = recorded.get(name) ?? recorded.get(renames.get(name) ?? name);
      if (was !== undefined && was.status !== "failed") pins[name] = was.exports;
    }
    const names = steps.filter(({ disabled }) => disabled !== true);
    const { stop, upTo } = reachOf(
      names.map(({ namespace }) => namespace ?? ""),
      pinned,
      new Set(Object.keys(pins)),
    );
    if (stop !== undefined && upTo === undefined) {
      return { before, outcome: "stops", step: stop, now: undefined };
    }
    const body = {
      workflow_id: id,
      ...(upTo === undefined ? {} : { up_to: upTo }),
      triggers,
      event: before.event,
      steps: steps.map((step) => {
        const name = String(step.namespace);
        return pins[name] === undefined ? step : atRest(name);
      }),
      pins: Object.fromEntries(
        Object.entries(pins).map(([name, exports]) => [name, asJsonObject(exports)]),
      ),
    };
    try {
      const now = await exactData<Run>(
        client.POST("/v1/workflows/test", { body, parseAs: "text" }),
      );
      return { before, now: now.id, ...outcomeOf(before, now, stop, renames) };
    } catch (error) {
      const problem = error instanceof Error ? sentence(error) : String(error);
      return { before, outcome: "refused", step: undefined, now: undefined, problem };
    }
  };
  const count = (...outcomes: Row["outcome"][]) =>
    rows.filter(({ outcome }) => outcomes.includes(outcome)).length;
  return (
    <section className="rehearsal" aria-label="Rehearsal">
      <div className="row rehearsal-bar">
        <Button
          icon={ListChecks}
          refused={refused}
          busy={rehearse.isPending && `Rehearsing, ${rows.length} done…`}
          onClick={() => rehearse.mutate()}
        >
          Rehearse with the last {EVENTS_MAX} events
        </Button>
        <span className="small dim" role="status">
          {rehearse.isSuccess && rehearse.data === 0
            ? "No recorded events to rehearse with yet."
            : rows.length > 0
              ? `${count("same", "throws-too")} same, ${count("differs", "passes")} differ, ${plural(count("throws", "refused"), "throws now", "throw now")}${count("stops") === 0 ? "" : `, ${plural(count("stops"), "stops", "stop")} before a step without a recorded result`}`
              : pinned.size === 0
                ? "Test runs of the draft. Nothing is deployed."
                : `Test runs of the draft. ${[...pinned].join(", ")} ${pinned.size === 1 ? "uses its" : "use their"} recorded results; where there is none, the rehearsal stops. Other code runs.`}
        </span>
      </div>
      {rehearse.error !== null && (
        <Banner kind="failed" role="alert" title="The events could not be loaded">
          {sentence(rehearse.error)}
        </Banner>
      )}
      {rows.length > 0 && (
        <ul className="rehearsed" aria-label="Outcomes">
          {rows.map(({ before, outcome, step, now, problem }) => (
            <li key={before.id}>
              <Glyph status={shapes[outcome]} small />
              <span className={outcome === "throws" || outcome === "refused" ? "failed-text" : ""}>
                {outcome === "refused" ? "refused" : outcomeWords[outcome]}
              </span>
              <span className="mono cut">{step ?? problem ?? ""}</span>
              <span className="num dim nowrap">
                {clock(before.created_at_ms)}{" "}
                <span className="mono only-wide">{shortId(before.id)}</span>
              </span>
              {now === undefined ? (
                <span />
              ) : (
                <Link
                  to="/runs/compare"
                  search={{ a: before.id, b: now }}
                  className="link"
                  target="_blank"
                >
                  Compare
                </Link>
              )}
            </li>
          ))}
        </ul>
      )}
    </section>
  );
}
