/** The dialog that replays a run: from its trigger or a step, with what is kept, what runs again, and the code between. */

import "./replay.css";
import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { RotateCcw, StepForward } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { RunDetail } from "~/api/runs";
import { useRefusal } from "~/shell/session";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { Dialog } from "~/ui/dialog";
import { bytes, plural } from "~/ui/format";
import { Select } from "~/ui/select";
import { Tag } from "~/ui/tag";
import { say } from "~/ui/toast";
import { type Plan, planQuery, runQuery } from "./queries";
import { beginnings, changesOf, type Fate, fatesOf } from "./replay-plan";

export function ReplayDialog({
  id,
  fromStep,
  onClose,
}: {
  id: string;
  fromStep: string | undefined;
  onClose: () => void;
}) {
  const { data: run, error } = useQuery(runQuery(id));
  const title = (
    <>
      Replay{" "}
      <span className="mono">{id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id}</span>
    </>
  );
  if (run === undefined) {
    return (
      <Dialog open onClose={onClose} title={title}>
        <div className="dialog-body">
          {error === null ? (
            <p className="dim">Reading the run…</p>
          ) : (
            <Banner kind="failed" title="The run could not be read">
              {sentence(error)}
            </Banner>
          )}
        </div>
      </Dialog>
    );
  }
  return <Asks run={run} title={title} fromStep={fromStep} onClose={onClose} />;
}

/** The version that runs now, and the one that the run had. */
function usePlans(run: RunDetail): { had: Plan | undefined; live: Plan | undefined } {
  const { data: had } = useQuery({
    ...planQuery(run.ownerId, run.deploymentId ?? ""),
    enabled: run.isWorkflow && run.deploymentId !== undefined,
  });
  const { data: liveId } = useQuery({
    queryKey: ["workflow", run.ownerId, "live"],
    queryFn: async ({ signal }) => {
      const { deployment_id } = await data(
        client.GET("/v1/workflows/{id}", {
          params: { path: { id: run.ownerId }, query: { include: "deployment_id" } },
          signal,
        }),
      );
      return deployment_id;
    },
    enabled: run.isWorkflow,
  });
  const { data: live } = useQuery({
    ...planQuery(run.ownerId, liveId ?? ""),
    enabled: run.isWorkflow && typeof liveId === "string",
  });
  return { had, live };
}

const TRIGGER = "$trigger";

function Asks({
  run,
  title,
  fromStep,
  onClose,
}: {
  run: RunDetail;
  title: ReactNode;
  fromStep: string | undefined;
  onClose: () => void;
}) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const { had, live } = usePlans(run);
  const steps = live?.steps ?? had?.steps ?? [];
  const ways = beginnings(run, steps);
  const failed = run.error?.step;
  const [begin, setBegin] = useState<string | undefined>(fromStep);
  // A step that the live version has no more cannot begin.
  const from = begin !== undefined && ways.includes(begin) ? begin : undefined;
  const fates = fatesOf(steps, from);
  const changes = changesOf(had, live).filter(({ name }) =>
    fates.some(({ step, fate }) => step.name === name && fate === "again"),
  );
  const go = useRef<HTMLButtonElement>(null);
  const replay = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/runs/{id}/replay", {
          params: { path: { id: run.id } },
          body: from === undefined ? {} : { from_step: from },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      onClose();
      say({ title: "Replaying", about: run.ownerName ?? run.ownerId, shape: "running" });
      void navigate({ to: "/runs/$id", params: { id: made.id } });
    },
  });
  const size = JSON.stringify(run.event)?.length ?? 0;
  const step = failed !== undefined && ways.includes(failed) ? failed : ways.at(-1);
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      about={run.ownerName}
      size="wide"
      initialFocus={go}
      onSubmit={() => replay.mutate()}
      foot={
        <>
          {replay.error !== null && (
            <p role="alert" className="failed-text grow">
              {sentence(replay.error)}
            </p>
          )}
          <Button onClick={onClose} keys="escape">
            Cancel
          </Button>
          <Button
            ref={go}
            look="primary"
            icon={from === undefined ? RotateCcw : StepForward}
            keys="mod+enter"
            refused={refused}
            busy={replay.isPending && "Replaying…"}
            onClick={() => replay.mutate()}
          >
            {from === undefined ? "Replay from the trigger" : `Replay from ${from}`}
          </Button>
        </>
      }
    >
      <div className="replay-pick">
        <section>
          <h3>Begin</h3>
          <RadioGroup
            aria-label="Begin"
            value={from ?? TRIGGER}
            onValueChange={(next) => setBegin(next === TRIGGER ? undefined : String(next))}
          >
            <Pick
              value={TRIGGER}
              title="From the trigger"
              says={
                run.isWorkflow
                  ? `${plural(fatesOf(steps, undefined).filter(({ fate }) => fate === "again").length, "step")} run again`
                  : "Its code runs again"
              }
            />
            {step !== undefined && (
              <Pick
                value={from ?? step}
                title={
                  <>
                    From <span className="mono">{from ?? step}</span>
                  </>
                }
                says={`${(from ?? step) === failed ? "Failed here, " : ""}${plural(
                  fatesOf(steps, from ?? step).filter(({ fate }) => fate === "kept").length,
                  "result",
                )} kept`}
                end={
                  ways.length > 1 && (
                    <Select
                      small
                      aria-label="Step to begin with"
                      value={from ?? step}
                      onChange={setBegin}
                      choices={ways.map((name) => ({
                        value: name,
                        label: <span className="mono">{name}</span>,
                      }))}
                    />
                  )
                }
              />
            )}
          </RadioGroup>
        </section>
        <section>
          <h3>With</h3>
          <div className="pick-text" style={{ padding: "6px 8px" }}>
            {run.isWorkflow ? (
              <span>
                the code that is live{" "}
                {live !== undefined && <Tag kind="live">v{live.version} live</Tag>}
              </span>
            ) : (
              <span>the code that is deployed</span>
            )}
            <span className="small dim">
              {had === undefined || live === undefined
                ? ""
                : had.version === live.version
                  ? `What this run had too${run.status === "failed" ? ". The same event may fail again" : ""}`
                  : `This run had v${had.version}`}
            </span>
          </div>
          <div className="pick-text" style={{ padding: "6px 8px" }}>
            <span>the event as it came</span>
            <span className="small dim num">{bytes(size)}</span>
          </div>
        </section>
      </div>
      {fates.length > 0 && <Flow fates={fates} />}
      {changes.length > 0 && (
        <div className="replay-diff">
          {changes.map((change) => (
            <section key={change.name}>
              <div className="pane-head">
                <h3 className="mono">{change.name}</h3>
                <span className="dim small">
                  v{had?.version} against v{live?.version}
                </span>
              </div>
              <DiffView
                before={change.before}
                after={change.after}
                label={`Difference of ${change.name}`}
              />
            </section>
          ))}
        </div>
      )}
      <CallsOut fates={fates} />
    </Dialog>
  );
}

function Pick({
  value,
  title,
  says,
  end,
}: {
  value: string;
  title: ReactNode;
  says: ReactNode;
  end?: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the radio within is the control
    <label className="pick">
      <Radio.Root value={value} className="radio">
        <Radio.Indicator className="radio-dot" />
      </Radio.Root>
      <span className="pick-text">
        <span className="name">{title}</span>
        <span className="small dim">{says}</span>
      </span>
      {end}
    </label>
  );
}

const fateWords = { kept: "kept", again: "runs again", off: "off" } as const;

function Flow({ fates }: { fates: readonly Fate[] }) {
  return (
    <ol className="replay-flow" aria-label="What runs again">
      {fates.map(({ step, fate }) => (
        <li key={step.name} className={`replay-step is-${fate}`}>
          <span className="replay-bar" />
          <span className="mono cut" title={step.name}>
            {step.name}
          </span>
          <span className="micro dim">{fateWords[fate]}</span>
        </li>
      ))}
    </ol>
  );
}

/** Steps with accounts do again what they did. */
function CallsOut({ fates }: { fates: readonly Fate[] }) {
  const calling = fates.filter(({ step, fate }) => fate === "again" && step.apps.length > 0);
  if (calling.length === 0) return null;
  return (
    <div className="replay-warn">
      <Banner
        kind="waits"
        title={`${plural(calling.length, "step")} ${calling.length === 1 ? "calls" : "call"} out again`}
      >
        {calling.map(({ step }, index) => (
          <span key={step.name}>
            {index > 0 && ", "}
            <span className="mono">{step.name}</span> with {step.apps.join(", ")}
          </span>
        ))}
        .
      </Banner>
    </div>
  );
}
