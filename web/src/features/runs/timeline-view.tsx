/** Timeline of a run: a row for each step, drawn to the scale of `timeline.ts`. */

import "./timeline.css";
import { Link } from "@tanstack/react-router";
import { FoldHorizontal } from "lucide-react";
import { type CSSProperties, type KeyboardEvent, useEffect, useRef, useState } from "react";
import { isFinal, type RunDetail } from "~/api/runs";
import { useShortcuts } from "~/shell/shortcuts";
import { Button } from "~/ui/button";
import { cn } from "~/ui/cn";
import { count, duration, plural, shortId } from "~/ui/format";
import { keepInView } from "~/ui/keep-in-view";
import { PaneHead } from "~/ui/pane";
import { Glyph, type Shape } from "~/ui/status";
import { type Lost, type Timeline, type TimelineRow, timelineOf } from "./timeline";

type Vars = CSSProperties & Partial<Record<"--left" | "--width", string>>;

const at = (left: number, width?: number): Vars => ({
  "--left": `${left}%`,
  ...(width === undefined ? {} : { "--width": `${width}%` }),
});

const shapes: Record<TimelineRow["status"], Shape> = {
  succeeded: "succeeded",
  failed: "failed",
  running: "running",
  paused: "paused",
  queued: "queued",
  cancelled: "cancelled",
  waiting: "waiting",
  skipped: "waiting",
  kept: "succeeded",
};

export function TimelineView({
  run,
  plan,
  now,
  current,
  triggerName,
  onChoose,
}: {
  run: RunDetail;
  plan: readonly { name: string; disabled: boolean }[];
  now: number;
  current: string;
  triggerName: string;
  onChoose: (key: string) => void;
}) {
  const [folds, setFolds] = useState(true);
  const list = useRef<HTMLDivElement>(null);
  const timeline = timelineOf(run, plan, now, folds);
  const hasPause = timeline.rows.some(({ stretches }) =>
    stretches.some(({ kind }) => kind === "paused"),
  );
  // A run of many steps opens at the one that failed.
  const shown = timeline.rows.length;
  // biome-ignore lint/correctness/useExhaustiveDependencies: another step is what moves the list
  useEffect(() => {
    const row = list.current?.querySelector("[aria-current=step]");
    keepInView(row?.closest("section"), row);
  }, [current, shown]);
  const move = (by: number): boolean => {
    const buttons = [...(list.current?.querySelectorAll<HTMLElement>(".race-row") ?? [])];
    const index = timeline.rows.findIndex(({ key }) => key === current);
    const next = timeline.rows[index + by];
    if (next === undefined) return false;
    // From elsewhere on the page the focus stays where it is.
    if (list.current?.contains(document.activeElement)) buttons[index + by]?.focus();
    onChoose(next.key);
    return true;
  };
  const moveHere = (event: KeyboardEvent, by: number) => {
    if (move(by)) event.preventDefault();
  };
  useShortcuts({ stepUp: () => move(-1), stepDown: () => move(1) });
  return (
    <section aria-label="Timeline">
      <PaneHead title="Timeline" hint={summaryOf(timeline)}>
        {(timeline.foldedMs > 0 || !folds) && (
          <Button
            look="quiet"
            size="sm"
            icon={FoldHorizontal}
            aria-pressed={folds}
            onClick={() => setFolds(!folds)}
          >
            {hasPause ? "Pauses shortened" : "Waits shortened"}
          </Button>
        )}
      </PaneHead>
      <div className="race-axis num" aria-hidden="true">
        <div className="race-x">
          {timeline.ticks.map((tick) => (
            <span key={tick.at} style={at(tick.left)}>
              {tick.at === 0
                ? "0"
                : duration(tick.at).replace(/\.(\d*?)0+(?=\u202f)/, (_, kept) =>
                    kept === "" ? "" : `.${kept}`,
                  )}
            </span>
          ))}
        </div>
      </div>
      {/* biome-ignore lint/a11y/noStaticElementInteractions: arrows move among the buttons within */}
      <div
        ref={list}
        onKeyDown={(event) => {
          if (event.key === "ArrowDown") moveHere(event, 1);
          if (event.key === "ArrowUp") moveHere(event, -1);
        }}
      >
        {timeline.rows.map((row, index) => (
          <Row
            key={row.key}
            row={row}
            name={row.kind === "trigger" ? triggerName : row.name}
            timeline={timeline}
            falls={(timeline.rows[index + 1]?.stretches[0]?.kind ?? "dry") !== "dry"}
            current={row.key === current}
            onChoose={() => onChoose(row.key)}
          />
        ))}
      </div>
      <Key timeline={timeline} />
      {run.replayOf !== undefined && timeline.rows.some(({ status }) => status === "kept") && (
        <KeptFrom run={run.replayOf} />
      )}
      {timeline.lost.map((lost) => (
        <LostIn key={lost.step} lost={lost} isOver={isFinal(run.status)} />
      ))}
    </section>
  );
}

function KeptFrom({ run }: { run: string }) {
  return (
    <p className="race-lost small mid">
      Kept results come from run{" "}
      <Link to="/runs/$id" params={{ id: run }} className="link mono">
        {shortId(run)}{" "}
      </Link>{" "}
      . These steps did not run again.
    </p>
  );
}

/** What a crash cost: nothing that was done before it. */
function LostIn({ lost: { step, kept }, isOver }: { lost: Lost; isOver: boolean }) {
  return (
    <p className="race-lost small mid">
      The server, or the process of the code, exited in <span className="mono">{step}</span>.{" "}
      {kept > 0 && `${plural(kept, "result")} before it ${kept === 1 ? "was" : "were"} kept, and `}
      {kept > 0 ? "it" : "It"} {isOver ? "ran" : "runs"} again.
    </p>
  );
}

function summaryOf({ rows }: Timeline): string {
  const steps = rows.filter(({ kind }) => kind === "step");
  const done = steps.filter(({ status }) => status === "succeeded").length;
  const dry = steps.filter(({ note }) => note === "not reached").length;
  const kept = steps.filter(({ status }) => status === "kept").length;
  const parts = [`${count(steps.length)} ${steps.length === 1 ? "step" : "steps"}`];
  if (kept > 0) parts.push(`${kept} kept`);
  if (done < steps.length) parts.push(`${done} done`);
  if (dry > 0) parts.push(`${dry} not reached`);
  return parts.join(", ");
}

function Row({
  row,
  name,
  timeline,
  falls,
  current,
  onChoose,
}: {
  row: TimelineRow;
  name: string;
  timeline: Timeline;
  falls: boolean;
  current: boolean;
  onChoose: () => void;
}) {
  const dry = row.status === "waiting" || row.status === "skipped" || row.status === "kept";
  const end = row.stretches.at(-1);
  return (
    <button
      type="button"
      className={cn("race-row", row.status === "failed" && "is-failed", dry && "is-dry")}
      aria-current={current ? "step" : undefined}
      onClick={onChoose}
    >
      <span className="race-name">
        <Glyph status={shapes[row.status]} />
        <span className="sr">{row.status}: </span>
        <span className={cn("cut", row.kind === "step" && "mono")}>{name}</span>
        {row.note !== undefined && !dry && <span className="race-note">{row.note}</span>}
      </span>
      <span className="race-dur num">
        {dry ? row.note : row.durationMs !== undefined && duration(row.durationMs)}
      </span>
      <span className="race-track" aria-hidden="true">
        {timeline.ticks.map((tick) => (
          <span key={tick.at} className="tick" style={at(tick.left)} />
        ))}
        {row.stretches.map((stretch) => (
          <span
            key={stretch.kind + stretch.from}
            className={cn("seg", `is-${stretch.kind}`)}
            style={at(stretch.left, stretch.width)}
          >
            {stretch.kind === "paused" && <span>{duration(stretch.to - stretch.from)}</span>}
          </span>
        ))}
        {falls && end !== undefined && <span className="fall" style={at(end.left + end.width)} />}
      </span>
    </button>
  );
}

const words = {
  queued: "queued",
  starting: "process start",
  done: "done",
  running: "running",
  retried: "failed attempt",
  lost: "ended with its process",
  idle: "waited",
  paused: "paused",
  failed: "failed",
} as const;

/** Names of the stretches that this run shows. */
function Key({ timeline }: { timeline: Timeline }) {
  const kinds = new Set(
    timeline.rows.flatMap(({ stretches }) => stretches.map(({ kind }) => kind)),
  );
  return (
    <div className="race-key small dim">
      {Object.entries(words).map(
        ([kind, word]) =>
          [...kinds].some((each) => each === kind) && (
            <span key={kind}>
              <span className={cn("seg", `is-${kind}`)} />
              {word}
            </span>
          ),
      )}
    </div>
  );
}
