/** The dialog that replays many runs, as a job that goes on by itself. */

import { Radio } from "@base-ui/react/radio";
import { RadioGroup } from "@base-ui/react/radio-group";
import { useMutation, useQueryClient } from "@tanstack/react-query";
import { useNavigate } from "@tanstack/react-router";
import { RotateCcw } from "lucide-react";
import { useState } from "react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { ReplayWanted } from "~/shell/replay";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { Dialog } from "~/ui/dialog";
import { plural } from "~/ui/format";
import { say } from "~/ui/toast";
import "./replay.css";

type Many = Extract<ReplayWanted, { kind: "many" }>;

export function ReplayManyDialog({ wanted, onClose }: { wanted: Many; onClose: () => void }) {
  const navigate = useNavigate();
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const isWorkflow = "workflow_id" in wanted.owner;
  const [begin, setBegin] = useState<"failed" | "trigger">(isWorkflow ? "failed" : "trigger");
  const replay = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/replays", {
          body: {
            ...wanted.owner,
            ...(wanted.runs === undefined ? {} : { runs: [...wanted.runs] }),
            ...(wanted.group === undefined ? {} : { group: wanted.group }),
            ...(begin === "failed" ? { from_failed: true } : {}),
          },
        }),
      ),
    onSuccess: (made) => {
      void queries.invalidateQueries({ queryKey: ["runs"] });
      onClose();
      say({
        title: `Replaying ${plural(wanted.count, "run")}`,
        about: wanted.name,
        shape: "running",
      });
      // A dry run gives a number alone.
      if (!("id" in made) || typeof made.id !== "string") return;
      void navigate({ to: "/replays/$id", params: { id: made.id } });
    },
  });
  return (
    <Dialog
      open
      onClose={onClose}
      title={`Replay ${plural(wanted.count, "run")}`}
      about={wanted.name}
      onSubmit={() => replay.mutate()}
      foot={
        <>
          <Button onClick={onClose} keys="escape">
            Cancel
          </Button>
          <Button
            look="primary"
            icon={RotateCcw}
            keys="mod+enter"
            refused={refused}
            busy={replay.isPending && "Beginning…"}
            onClick={() => replay.mutate()}
          >
            Replay {plural(wanted.count, "run")}
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        <RadioGroup
          aria-label="Begin"
          value={begin}
          onValueChange={(next) => setBegin(next === "failed" ? "failed" : "trigger")}
        >
          {isWorkflow && (
            // biome-ignore lint/a11y/noLabelWithoutControl: the radio within is the control
            <label className="pick">
              <Radio.Root value="failed" className="radio">
                <Radio.Indicator className="radio-dot" />
              </Radio.Root>
              <span className="pick-text">
                <span className="name">Each from the step that failed</span>
                <span className="small dim">Results of the steps before are kept</span>
              </span>
            </label>
          )}
          {/* biome-ignore lint/a11y/noLabelWithoutControl: the radio within is the control */}
          <label className="pick">
            <Radio.Root value="trigger" className="radio">
              <Radio.Indicator className="radio-dot" />
            </Radio.Root>
            <span className="pick-text">
              <span className="name">Each from its trigger</span>
              <span className="small dim">Everything runs again, calls to others too</span>
            </span>
          </label>
        </RadioGroup>
        <p className="small dim">
          They run with the code that is live, one after the other, and go on when this page is
          closed. What succeeded or was replayed meanwhile is left out.
        </p>
        {replay.error !== null && (
          <p role="alert" className="failed-text">
            {sentence(replay.error)}
          </p>
        )}
      </div>
    </Dialog>
  );
}
