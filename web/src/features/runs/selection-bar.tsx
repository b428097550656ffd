/** Bar of actions on selected runs, at the bottom of their list. */

import { Link } from "@tanstack/react-router";
import { Ban, GitCompare, RotateCcw, X } from "lucide-react";
import { useState } from "react";
import type { RunRow } from "~/api/run-list";
import { isFinal } from "~/api/runs";
import { useReplay } from "~/shell/replay";
import { useRefusal } from "~/shell/session";
import { shortcuts, useShortcuts } from "~/shell/shortcuts";
import { Button, buttonClass, IconButton } from "~/ui/button";
import { count, plural } from "~/ui/format";
import { useKeys } from "~/ui/keyboard";
import { Keys } from "~/ui/keys";
import { CancelDialog } from "./cancel-dialog";
import { actsOn, type Query } from "./run-filter";
import type { Selection } from "./selection";

export function SelectionBar({
  selection,
  rows,
  total,
  query,
  says,
}: {
  selection: Selection;
  rows: readonly RunRow[];
  /** Runs that match, and how that is said where they are not all counted. */
  total: { n: number; says: string };
  /** Which runs the list has, as the API is asked. */
  query: Query;
  /** "that failed or are paused": of the runs that match. */
  says: string;
}) {
  const replay = useReplay();
  const invokes = useRefusal("invoke");
  const deploys = useRefusal("deploy");
  const [cancels, setCancels] = useState(false);
  const chosen = rows.filter(({ id }) => selection.chosen.has(id));
  const ended = chosen.filter(({ status, kind }) => isFinal(status) && kind === "live");
  const waiting = chosen.filter(({ status }) => status === "queued" || status === "paused");
  const forReplay = actsOn(query, "replay");
  const forCancel = actsOn(query, "cancel");
  const canReplay = selection.isAll ? forReplay !== undefined : ended.length > 0;
  const canCancel = selection.isAll ? forCancel !== undefined : waiting.length > 0;
  const startReplay = () => {
    if (!canReplay || invokes !== undefined) return;
    const [only] = ended;
    if (!selection.isAll && ended.length === 1 && only !== undefined) {
      replay({ kind: "one", run: only.id });
      return;
    }
    replay({
      kind: "many",
      name: selection.isAll ? `runs ${says}` : "the selected runs",
      stepwise: (selection.isAll ? rows : ended).some(
        ({ isWorkflow, status }) => isWorkflow && status === "failed",
      ),
      ...(selection.isAll
        ? { filter: { ...forReplay } }
        : { runs: ended.map(({ id }) => id), count: ended.length, ...ownerOf(ended) }),
    });
  };
  const startCancel = () => {
    if (canCancel && deploys === undefined) setCancels(true);
  };
  useShortcuts({ replay: startReplay, cancel: startCancel });
  useKeys({ escape: selection.none });
  const [one, two] = chosen;
  return (
    <section className="sel-bar" aria-label="Selection">
      <span className="name num" role="status">
        {selection.isAll ? `All ${total.says} selected` : `${count(selection.size)} selected`}
      </span>
      {!selection.isAll && total.n > selection.size && (
        <button type="button" className="link row" onClick={selection.all}>
          Select all {total.says} that match <Keys of={shortcuts.selectAll.keys} />
        </button>
      )}
      <span className="grow" />
      {!selection.isAll && selection.size === 2 && one !== undefined && two !== undefined && (
        <Link
          to="/runs/compare"
          search={{ a: two.id, b: one.id }}
          className={buttonClass({ look: "quiet" })}
        >
          <GitCompare className="icon" aria-hidden="true" />
          Compare
        </Link>
      )}
      <Button
        icon={Ban}
        keys={shortcuts.cancel.keys}
        refused={
          deploys ?? (canCancel ? undefined : "Only queued and paused runs can be cancelled.")
        }
        onClick={startCancel}
      >
        {selection.isAll || waiting.length === 0
          ? "Cancel…"
          : `Cancel ${plural(waiting.length, "run")}…`}
      </Button>
      <Button
        look="primary"
        icon={RotateCcw}
        keys={shortcuts.replay.keys}
        refused={
          invokes ?? (canReplay ? undefined : "Only live runs that have ended can be replayed.")
        }
        onClick={startReplay}
      >
        {selection.isAll || ended.length === 0
          ? "Replay…"
          : `Replay ${plural(ended.length, "run")}…`}
      </Button>
      <IconButton icon={X} label="Clear selection" keys="escape" onClick={selection.none} />
      {cancels && (
        <CancelDialog
          wanted={
            selection.isAll ? { filter: { ...forCancel } } : { runs: waiting.map(({ id }) => id) }
          }
          says={selection.isAll ? says : "that you selected"}
          onClose={() => setCancels(false)}
          onDone={() => {
            setCancels(false);
            selection.none();
          }}
        />
      )}
    </section>
  );
}

/** The workflow or source whose runs they all are. */
function ownerOf(runs: readonly RunRow[]) {
  const [first] = runs;
  if (first === undefined || runs.some(({ ownerId }) => ownerId !== first.ownerId)) return {};
  const { ownerId, isWorkflow } = first;
  return { owner: isWorkflow ? { workflow_id: ownerId } : { source_id: ownerId } };
}
