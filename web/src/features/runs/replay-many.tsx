/** The dialog that replays many runs, as a job that continues by itself. */

import { RadioGroup } from "@base-ui/react/radio-group";
import { useMutation, useQuery, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { useId, useState } from "react";
import { client, data } from "~/api/client";
import { resolvingError } from "~/api/error-groups";
import { sentence } from "~/api/errors";
import { asJson } from "~/api/json";
import { useKeptText } from "~/shell/kept-text";
import type { ReplayWanted } from "~/shell/replay";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { Checkbox } from "~/ui/field";
import { count, plural } from "~/ui/format";
import { say } from "~/ui/toast";
import { EventEditor } from "./event-editor";
import { Pick } from "./replay-parts";
import { editedOf } from "./replay-plan";
import "./replay.css";

type Many = Extract<ReplayWanted, { kind: "many" }>;

/** How far the server counts what a replay would run. */
const REPLAYED_MAX = 100_000;

/** What an event is typed for: runs of one workflow or source, whichever of them. */
const keptName = ({ owner, group, filter }: Many): string =>
  group ??
  Object.values(owner ?? {})[0] ??
  (filter?.owner_id === undefined ? "many" : String(filter.owner_id));

export function ReplayManyDialog({ wanted, onClose }: { wanted: Many; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const [begin, setBegin] = useState<"failed" | "trigger">(wanted.stepwise ? "failed" : "trigger");
  const [version, setVersion] = useState<"live" | "original">("live");
  // One event takes the place of those of one workflow or source.
  const isOfOne = wanted.owner !== undefined || typeof wanted.filter?.owner_id === "string";
  const [text, setText, isTyped] = useKeptText(`dialog.replay.${keptName(wanted)}`, "{}");
  const [edits, setEdits] = useState(isTyped);
  const edited = edits ? editedOf(text) : undefined;
  const problem = edited !== undefined && "problem" in edited ? edited.problem : undefined;
  const deploys = useRefusal("deploy");
  const [wantsResolved, setWantsResolved] = useState(wanted.mended === true);
  // The version that failed fails again.
  const resolvable = deploys === undefined && version === "live" ? wanted.group : undefined;
  const resolves = wantsResolved ? resolvable : undefined;
  const fromFailed =
    wanted.fromStep === undefined ? { from_failed: true } : { from_step: wanted.fromStep };
  const asked = {
    ...wanted.owner,
    ...(wanted.runs === undefined ? {} : { runs: [...wanted.runs] }),
    ...(wanted.group === undefined ? {} : { group: wanted.group }),
    ...(wanted.filter === undefined ? {} : { filter: { ...wanted.filter } }),
  };
  const counted = useQuery({
    queryKey: ["replay-count", asked],
    queryFn: async ({ signal }) => {
      const found = await data(
        client.POST("/v1/replays", { body: { ...asked, dry_run: true }, signal }),
      );
      return found.total ?? REPLAYED_MAX;
    },
    enabled: wanted.count === undefined,
    gcTime: 0,
  });
  const many = wanted.count ?? counted.data;
  // The server counts what the filter matches, and leaves out what has no failed step.
  const most = begin === "failed" && wanted.filter !== undefined ? "up to " : "";
  const runs =
    many === undefined
      ? "runs"
      : many >= REPLAYED_MAX
        ? `${count(REPLAYED_MAX)} runs or more`
        : `${most}${plural(many, "run")}`;
  const replay = useMutation({
    mutationFn: () => {
      const start = () =>
        data(
          client.POST("/v1/replays", {
            body: {
              ...asked,
              ...(begin === "failed" ? fromFailed : {}),
              ...(version === "original" ? { version } : {}),
              ...(edited !== undefined && "event" in edited ? { event: asJson(edited.event) } : {}),
            },
          }),
        );
      return resolves === undefined ? start() : resolvingError(resolves, start);
    },
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      void queries.invalidateQueries({ queryKey: ["error-groups"] });
      void queries.invalidateQueries({ queryKey: ["error-group"] });
      onClose();
      say({ title: `Replaying ${runs}`, about: wanted.name, shape: "running" });
      // A dry run gives a number alone.
      if (!("id" in made) || typeof made.id !== "string") return;
      void navigate({ to: "/replays/$id", params: { id: made.id } });
    },
  });
  const nothing =
    many === undefined
      ? "The runs are being counted."
      : many === 0
        ? "None of these runs has ended."
        : undefined;
  const submit = () => {
    if (refused !== undefined || nothing !== undefined || problem !== undefined) return;
    if (!replay.isPending) replay.mutate();
  };
  const error = replay.error ?? counted.error;
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Replay ${runs}`}
      about={wanted.name}
      typed={isTyped}
      onSubmit={submit}
      foot={
        <>
          <CloseDialog says="Cancel" />
          <Button
            look="primary"
            icon={RotateCcw}
            keys="mod+enter"
            refused={refused ?? nothing ?? problem}
            busy={replay.isPending && "Starting…"}
            onClick={submit}
          >
            Replay {runs}
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        {wanted.stepwise && (
          <RadioGroup
            aria-label="Start"
            value={begin}
            onValueChange={(next) => setBegin(next === "failed" ? "failed" : "trigger")}
          >
            <Pick
              value="failed"
              title="From the failed step"
              says={
                wanted.group === undefined
                  ? "Results of earlier steps are kept. Skipped: runs of sources, which have no steps, and runs that did not fail at a step"
                  : "Results of earlier steps are kept"
              }
            />
            <Pick
              value="trigger"
              title="From the trigger"
              says="Everything runs again, external calls included"
            />
          </RadioGroup>
        )}
        <RadioGroup
          aria-label="Code"
          value={version}
          onValueChange={(next) => setVersion(next === "original" ? "original" : "live")}
        >
          <Pick value="live" title="Live version" says="Of each workflow or source" />
          <Pick value="original" title="Original version" says="The version that each run used" />
        </RadioGroup>
        {isOfOne && (
          <RadioGroup
            aria-label="Event"
            value={edits ? "edited" : "kept"}
            onValueChange={(next) => setEdits(next === "edited")}
          >
            <Pick value="kept" title="Original events" says="Unchanged" />
            <Pick
              value="edited"
              title="One event for all"
              says="Replaces their own events; the new runs are marked as edited"
            />
          </RadioGroup>
        )}
        {edits && (
          <div>
            <EventEditor
              text={text}
              onChange={setText}
              problem={problem}
              minHeight={96}
              maxHeight="24dvh"
            />
          </div>
        )}
        {resolvable !== undefined && (
          <Resolves checked={wantsResolved} onChange={setWantsResolved} />
        )}
        <p className="small dim">
          They run one after the other, and continue if you close this page.
          {wanted.group !== undefined &&
            " Runs that succeeded or were replayed in the meantime are skipped."}
        </p>
        {error !== null && (
          <p role="alert" className="failed-text">
            {sentence(error)}
          </p>
        )}
      </div>
    </Dialog>
  );
}

function Resolves({
  checked,
  onChange,
}: {
  checked: boolean;
  onChange: (checked: boolean) => void;
}) {
  const id = useId();
  return (
    <span className="toggle-row">
      <Checkbox id={id} checked={checked} onChange={onChange} />
      <label htmlFor={id}>
        Resolve the error <span className="dim">It reopens if one of them fails with it.</span>
      </label>
    </span>
  );
}
