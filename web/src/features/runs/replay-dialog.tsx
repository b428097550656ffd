/** The dialog that replays a run: from its trigger or a step, with which code and event, what is kept, and what runs again. */

import { exactText } from "~/json/exact";
import { useKeptText } from "~/shell/kept-text";
import "./replay.css";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { RotateCcw, StepForward } from "lucide-react";
import { type ReactNode, useRef, useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import { asJson, isObject } from "~/api/json";
import type { RunDetail } from "~/api/runs";
import { ReadFailed } from "~/shell/read-failed";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { bytes, plural } from "~/ui/format";
import { Select } from "~/ui/select";
import { Tag } from "~/ui/tag";
import { When } from "~/ui/time";
import { say } from "~/ui/toast";
import { EventEditor } from "./event-editor";
import { type Plan, runQuery } from "./queries";
import { CallsOut, Flow, Pick } from "./replay-parts";
import {
  beginnings,
  type Choice,
  changesOf,
  choicesOf,
  editedOf,
  fatesOf,
  nameOf,
  type Version,
} from "./replay-plan";
import { type Changed, usePlans } from "./use-plans";

export function ReplayDialog({
  id,
  fromStep,
  onClose,
}: {
  id: string;
  fromStep: string | undefined;
  onClose: () => void;
}) {
  const { data: run, error, refetch } = useQuery(runQuery(id));
  const title = (
    <>
      Replay{" "}
      <span className="mono">{id.length > 20 ? `${id.slice(0, 12)}…${id.slice(-4)}` : id}</span>
    </>
  );
  if (run === undefined) {
    return (
      <Dialog open onClose={onClose} title={title}>
        {error === null ? (
          <p className="dialog-body dim">Loading the run…</p>
        ) : (
          <ReadFailed what="The run" error={error} again={refetch} />
        )}
      </Dialog>
    );
  }
  return <Asks run={run} title={title} fromStep={fromStep} onClose={onClose} />;
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
  const { had, live, draft, changed, error, again, isLoading } = usePlans(run);
  const choices = choicesOf({ had, live, draft });
  const [wanted, setWanted] = useState<Version>("live");
  const version = choices.find((each) => each.version === wanted) ?? choices[0];
  const plan = version?.plan;
  const steps = plan?.steps ?? had?.steps ?? [];
  const ways = beginnings(run, steps);
  const failed = run.error?.step;
  const [begin, setBegin] = useState<string | undefined>(fromStep);
  // A step that the chosen version has no more cannot begin.
  const from = begin !== undefined && ways.includes(begin) ? begin : undefined;
  const fates = fatesOf(steps, from);
  const changes = changesOf(had, plan).filter(({ name }) =>
    fates.some(({ step, fate }) => step.name === name && fate === "again"),
  );
  const [original] = useState(() => exactText(run.event, 2) ?? "null");
  const [text, setText, isTyped] = useKeptText(`dialog.replay.${run.id}`, original);
  const [edits, setEdits] = useState(isTyped);
  const edited = edits ? editedOf(text) : undefined;
  const problem = edited !== undefined && "problem" in edited ? edited.problem : undefined;
  const go = useRef<HTMLButtonElement>(null);
  const replay = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/runs/{id}/replay", {
          params: { path: { id: run.id } },
          body: {
            ...(from === undefined ? {} : { from_step: from }),
            ...(version === undefined || version.version === "live"
              ? {}
              : { version: version.version }),
            ...(edited !== undefined && "event" in edited ? { event: asJson(edited.event) } : {}),
          },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      onClose();
      say({ title: "Replaying", about: run.ownerName ?? run.ownerId, shape: "running" });
      void navigate({ to: "/runs/$id", params: { id: made.id } });
    },
  });
  const submit = () => {
    if (refused === undefined && problem === undefined && !replay.isPending) replay.mutate();
  };
  const size = JSON.stringify(run.event)?.length ?? 0;
  const cut = isObject(run.event) && "$truncated" in run.event;
  const step = failed !== undefined && ways.includes(failed) ? failed : ways.at(-1);
  const act = from === undefined ? "Replay from the trigger" : `Replay from ${from}`;
  return (
    <Dialog
      open
      onClose={onClose}
      title={title}
      about={run.ownerName}
      size="wide"
      typed={isTyped}
      initialFocus={go}
      onSubmit={submit}
      foot={
        <>
          {replay.error !== null && (
            <p role="alert" className="failed-text grow">
              {sentence(replay.error)}
            </p>
          )}
          <CloseDialog says="Cancel" />
          <Button
            ref={go}
            look="primary"
            icon={from === undefined ? RotateCcw : StepForward}
            keys="mod+enter"
            refused={refused ?? problem}
            busy={replay.isPending && "Replaying…"}
            onClick={submit}
          >
            {version === undefined || version.version === "live"
              ? act
              : `${act} with ${nameOf(version.plan)}`}
          </Button>
        </>
      }
    >
      <div className="replay-pick">
        <section>
          <h3>Start</h3>
          <RadioGroup
            aria-label="Start"
            value={from ?? TRIGGER}
            onValueChange={(next) => setBegin(next === TRIGGER ? undefined : String(next))}
          >
            <Pick
              value={TRIGGER}
              title="From the trigger"
              says={
                run.isWorkflow
                  ? plural(
                      fatesOf(steps, undefined).filter(({ fate }) => fate === "again").length,
                      "step runs again",
                      "steps run again",
                    )
                  : "The code runs again"
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
                      aria-label="First step to run"
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
          <h3>Code</h3>
          {error !== null && <ReadFailed what="The versions" error={error} again={again} />}
          {choices.length === 0 && error === null && (
            <p className="pick-alone">
              {isLoading ? "Loading the versions…" : "The deployed code"}
            </p>
          )}
          {choices.length > 0 && (
            <RadioGroup
              aria-label="Code"
              value={version?.version ?? "live"}
              onValueChange={(next) =>
                setWanted(choices.find((each) => each.version === next)?.version ?? "live")
              }
            >
              {choices.map((choice) => (
                <Code
                  key={choice.version}
                  choice={choice}
                  run={run}
                  had={had}
                  changed={choice.version === "draft" ? changed : undefined}
                />
              ))}
            </RadioGroup>
          )}
        </section>
        <section>
          <h3>Event</h3>
          <RadioGroup
            aria-label="Event"
            value={edits ? "edited" : "kept"}
            onValueChange={(next) => setEdits(next === "edited")}
          >
            <Pick
              value="kept"
              title="Unchanged"
              says={<span className="num">{bytes(size)}</span>}
            />
            <Pick
              value="edited"
              disabled={cut}
              title="Edited"
              says={
                cut
                  ? "Too large to edit here"
                  : from === undefined
                    ? "The new run is marked as edited"
                    : "Kept results come from the unchanged event"
              }
            />
          </RadioGroup>
        </section>
      </div>
      {run.isWorkflow && fates.length > 0 && <Flow fates={fates} />}
      {edits && (
        <div className="replay-event">
          <EventEditor
            text={text}
            onChange={setText}
            problem={problem}
            minHeight={120}
            maxHeight="32dvh"
          />
        </div>
      )}
      {changes.length > 0 && (
        <div className="replay-diff">
          {changes.map((change) => (
            <section key={change.name}>
              <div className="pane-head">
                <h3 className="mono">{change.name}</h3>
                <span className="dim small">
                  {had !== undefined && nameOf(had)} against {plan !== undefined && nameOf(plan)}
                </span>
              </div>
              <DiffView
                before={change.before}
                after={change.after}
                label={`Differences in ${change.name}`}
              />
            </section>
          ))}
        </div>
      )}
      <CallsOut fates={fates} />
    </Dialog>
  );
}

/** One version that the code may be of. */
function Code({
  choice: { version, plan },
  run,
  had,
  changed,
}: {
  choice: Choice;
  run: RunDetail;
  had: Plan | undefined;
  changed: Changed | undefined;
}) {
  switch (version) {
    case "live":
      return (
        <Pick
          value="live"
          title={
            <>
              Live <Tag kind="live">{nameOf(plan)}</Tag>
            </>
          }
          says={
            had === undefined
              ? "Currently deployed"
              : had.version !== plan.version
                ? `This run used ${nameOf(had)}`
                : run.status === "failed"
                  ? "Also used by this run. It may fail again"
                  : "Also used by this run"
          }
        />
      );
    case "original":
      return (
        <Pick
          value="original"
          title={
            <>
              Original <Tag>{nameOf(plan)}</Tag>
            </>
          }
          says="Used by this run"
        />
      );
    case "draft":
      return (
        <Pick
          value="draft"
          title={
            <>
              Draft{" "}
              {changed !== undefined && (
                <Tag kind="draft">
                  <When at={changed.at} />
                  {changed.by !== undefined && ` by ${changed.by}`}
                </Tag>
              )}
            </>
          }
          says="Runs as a test; nothing is deployed"
        />
      );
  }
}
