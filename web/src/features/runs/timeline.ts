/**
 * Layout of a run's time line: a row for the trigger and each step, stretches of time in each, and a scale in which long
 * pauses are folded to a fixed width, so that milliseconds stay visible.
 */

import { isFinal, type RunDetail, type StepRecord } from "~/api/runs";
import type { Stretch } from "./flow-model";

export type TimelineRow = {
  key: string;
  name: string;
  kind: "trigger" | "step";
  status:
    | "succeeded"
    | "failed"
    | "running"
    | "paused"
    | "waiting"
    | "skipped"
    | "kept"
    | "queued"
    | "cancelled";
  durationMs: number | undefined;
  /** A word beside the name: attempts, "queued", "not reached", "kept". */
  note: string | undefined;
  /** In the folded scale, per cent of the width. */
  stretches: (Stretch & { left: number; width: number })[];
};

export type Tick = { at: number; left: number };

/** A step whose process ended in it, and how many steps before it kept what they left. */
export type Lost = { step: string; kept: number };

export type Timeline = {
  rows: TimelineRow[];
  ticks: Tick[];
  foldedMs: number;
  totalMs: number;
  lost: Lost[];
};

/** A pause longer than this part of the rest is folded. */
const FOLD_FROM = 0.1;
/** Width of a folded pause, per cent of the rest. */
const GATE = 0.12;
const GAP_LEAST_MS = 900;

type Span = { from: number; to: number };

/** Time between two steps: a pause, or a wait for a busy server. */
type Gap = Span & { kind: "paused" | "idle" };

type Timed = { step: StepRecord; from: number; to: number };

/** Whether a replay took the result of the step from the run that it repeats. */
function isKept(run: RunDetail, { status, startedAt, attempts }: StepRecord): boolean {
  if (run.context.replay !== true || status !== "succeeded" || attempts.length > 0) return false;
  return startedAt === undefined || startedAt < run.acceptedAt;
}

/** When each step began and ended: as recorded, else one after the other. */
function timedSteps(run: RunDetail, now: number): Timed[] {
  let cursor = run.startedAt ?? run.acceptedAt;
  const last = run.finishedAt ?? (isFinal(run.status) ? cursor : now);
  return run.steps.map((step, index) => {
    if (isKept(run, step)) return { step, from: cursor, to: cursor };
    // Of a try that was lost only what was before it is known.
    const from = step.attempts[0] === undefined ? step.startedAt : step.attempts[0].startedAt;
    const begun = from ?? cursor;
    const open = step.durationMs === undefined;
    const next = run.steps[index + 1]?.startedAt;
    const again = Math.max(begun, step.startedAt ?? begun);
    const to = open ? Math.max(again, next ?? last) : again + (step.durationMs ?? 0);
    cursor = to;
    return { step, from: begun, to };
  });
}

/** Times in which a step was lost with its process, until it ran again. */
function lostOf(timed: readonly Timed[]): Span[] {
  return timed.flatMap(({ step, from, to }) =>
    step.attempts[0]?.lost === true ? { from, to: step.startedAt ?? to } : [],
  );
}

/**
 * Gaps between steps. A pause ends an attempt of the run, as each earlier try of a step does: the
 * longest gaps are the pauses that are left.
 */
function gapsOf(run: RunDetail, timed: readonly Timed[], now: number): Gap[] {
  const gaps = timed.flatMap(({ to }, index): Span[] => {
    const next = timed[index + 1];
    return next !== undefined && next.from - to > GAP_LEAST_MS ? [{ from: to, to: next.from }] : [];
  });
  const tries = run.steps.reduce((sum, { attempts }) => sum + attempts.length, 0);
  const longest = [...gaps].sort((one, other) => other.to - other.from - (one.to - one.from));
  const pauses = new Set(longest.slice(0, Math.max(0, run.attempt - 1 - tries)));
  const ended = gaps.map((gap): Gap => ({ ...gap, kind: pauses.has(gap) ? "paused" : "idle" }));
  const end = timed.at(-1)?.to;
  return run.status === "paused" && end !== undefined && now > end
    ? [...ended, { kind: "paused", from: end, to: now }]
    : ended;
}

/** Maps time to the folded scale. */
export function foldedScale(pauses: readonly Span[], start: number, end: number, folds: boolean) {
  const paused = pauses.reduce((sum, { from, to }) => sum + (to - from), 0);
  const rest = Math.max(1, end - start - paused);
  const gate = Math.max(rest * GATE, 1);
  const folded = folds
    ? pauses.filter(({ from, to }) => to - from > rest * FOLD_FROM && to - from > gate)
    : [];
  const lengthOf = (at: number) =>
    at -
    start -
    folded.reduce((cut, { from, to }) => {
      const inside = Math.min(Math.max(at - from, 0), to - from);
      return cut + inside - (inside / (to - from)) * gate;
    }, 0);
  const total = Math.max(1, lengthOf(end));
  return {
    percent: (at: number) => (100 * Math.min(Math.max(lengthOf(at), 0), total)) / total,
    folded,
    foldedMs: folded.reduce((sum, { from, to }) => sum + (to - from), 0),
  };
}

export function timelineOf(
  run: RunDetail,
  plan: readonly { name: string; disabled: boolean }[],
  now: number,
  folds = true,
): Timeline {
  const timed = timedSteps(run, now);
  const gaps = gapsOf(run, timed, now);
  const start = run.acceptedAt;
  const end = Math.max(
    run.finishedAt ?? (isFinal(run.status) ? start + 1 : now),
    timed.at(-1)?.to ?? start,
    start + 1,
  );
  const scale = foldedScale([...gaps, ...lostOf(timed)], start, end, folds);
  const place = (kind: Stretch["kind"], from: number, to: number, label?: string) => ({
    kind,
    from,
    to,
    ...(label === undefined ? {} : { label }),
    left: scale.percent(from),
    width: Math.max(0, scale.percent(to) - scale.percent(from)),
  });

  const rows: TimelineRow[] = [];
  const began = run.startedAt ?? (run.status === "queued" ? now : start);
  const ready = Math.max(began, run.steps[0]?.startedAt ?? began);
  rows.push({
    key: "$trigger",
    name: "trigger",
    kind: "trigger",
    status: run.status === "queued" ? "queued" : "succeeded",
    durationMs: ready - start,
    note: ready - began > began - start ? "starting" : "queued",
    stretches: [
      place("queued", start, began),
      ...(ready > began ? [place("starting", began, ready)] : []),
    ],
  });
  for (const [index, { step, from, to }] of timed.entries()) {
    if (isKept(run, step)) {
      rows.push(keptRow(step));
      continue;
    }
    rows.push(stepRow(run, step, from, to, index === timed.length - 1, place));
    const gap = gaps.find((each) => each.from === to);
    const row = rows.at(-1);
    if (gap !== undefined && row !== undefined) {
      row.stretches.push(place(gap.kind, gap.from, gap.to, gap.kind));
      // Its code ended; what it paused for did not.
      if (run.status === "paused" && index === timed.length - 1) row.status = "paused";
    }
  }
  const seen = new Set(run.steps.map(({ name }) => name));
  for (const { name, disabled } of plan) {
    if (seen.has(name)) continue;
    const isNext = run.status === "running" && rows.every(({ status }) => status !== "running");
    rows.push({
      key: name,
      name,
      kind: "step",
      status: disabled ? "skipped" : isNext ? "running" : "waiting",
      durationMs: undefined,
      note: disabled ? "off" : isFinal(run.status) ? "not reached" : isNext ? undefined : "to come",
      stretches:
        isNext && !disabled
          ? [place("running", timed.at(-1)?.to ?? began, end)]
          : [place("dry", end, end)],
    });
    if (isNext && !disabled) seen.add(name);
  }
  if (!run.isWorkflow && run.steps.length === 0 && run.startedAt !== undefined) {
    rows.push(sourceRow(run, began, end, place));
  }
  return {
    rows,
    ticks: ticksOf(
      end - start - scale.foldedMs,
      (at) => scale.percent(unfold(at, start, scale.folded)),
      end - start,
    ),
    foldedMs: scale.foldedMs,
    totalMs: end - start,
    lost: run.steps.flatMap(({ name, attempts }, at) =>
      attempts.some(({ lost }) => lost) ? { step: name, kept: at } : [],
    ),
  };
}

/** Adds to a running time the pauses before it. */
function unfold(elapsed: number, start: number, folded: readonly Span[]): number {
  let at = start + elapsed;
  for (const { from, to } of folded) if (from <= at) at += to - from;
  return at;
}

type Place = (kind: Stretch["kind"], from: number, to: number) => TimelineRow["stretches"][number];

function keptRow({ name }: StepRecord): TimelineRow {
  const shared = { key: name, name, kind: "step", status: "kept", note: "kept" } as const;
  return { ...shared, durationMs: undefined, stretches: [] };
}

function stepRow(
  run: RunDetail,
  step: StepRecord,
  from: number,
  to: number,
  isLast: boolean,
  place: Place,
): TimelineRow {
  const failed = step.status === "failed";
  const open = step.durationMs === undefined && !isFinal(run.status) && isLast;
  const stretches: TimelineRow["stretches"] = [];
  let begin = from;
  for (const [index, attempt] of step.attempts.entries()) {
    const isLast = index === step.attempts.length - 1;
    const next = isLast ? step.startedAt : step.attempts[index + 1]?.startedAt;
    if (attempt.lost) {
      stretches.push(place("lost", begin, next ?? begin));
      begin = next ?? begin;
      continue;
    }
    const at = attempt.startedAt ?? begin;
    const until = at + (attempt.durationMs ?? 0);
    const kind = attempt.problem === undefined ? "done" : "retried";
    stretches.push(place(kind, at, until), place("wait", until, next ?? until));
    begin = next ?? until;
  }
  const paused = open && run.status === "paused";
  stretches.push(place(failed ? "failed" : open && !paused ? "running" : "done", begin, to));
  return {
    key: step.name,
    name: step.name,
    kind: "step",
    status: failed
      ? "failed"
      : paused
        ? "paused"
        : open
          ? "running"
          : step.status === "skipped"
            ? "skipped"
            : "succeeded",
    durationMs: step.durationMs ?? (failed ? to - from : undefined),
    note: step.attempts.length > 0 ? `attempt ${step.attempts.length + 1}` : undefined,
    stretches,
  };
}

/** A source's run has no steps: its code is one stretch. */
function sourceRow(run: RunDetail, from: number, to: number, place: Place): TimelineRow {
  const status = run.status === "queued" ? "waiting" : run.status;
  return {
    key: "$run",
    name: "run",
    kind: "step",
    status,
    durationMs: run.durationMs,
    note: undefined,
    stretches: [
      place(
        run.status === "failed" ? "failed" : run.status === "running" ? "running" : "done",
        from,
        to,
      ),
    ],
  };
}

const STEPS = [1, 2, 5];
const TICKS = 4;
/** Nearer to the end a tick would stand in the way of the whole. */
const LAST_TICK = 0.82;

/** Round times on the axis, in the time that is not folded away. */
export function ticksOf(
  runningMs: number,
  percent: (elapsed: number) => number,
  totalMs: number,
): Tick[] {
  const rough = runningMs / TICKS;
  const power = 10 ** Math.floor(Math.log10(Math.max(rough, 1)));
  const size = (STEPS.find((step) => step * power >= rough) ?? 10) * power;
  const ticks: Tick[] = [];
  for (let at = 0; at <= runningMs * LAST_TICK; at += size) ticks.push({ at, left: percent(at) });
  ticks.push({ at: totalMs, left: 100 });
  return ticks;
}

/** The stretches of a run in lists, of what a light record tells. */
export function stretchesOf(
  run: {
    status: RunDetail["status"];
    acceptedAt: number;
    startedAt: number | undefined;
    finishedAt: number | undefined;
    steps: readonly { status: string; durationMs: number | undefined }[];
    planned: number;
  },
  now: number,
): Stretch[] {
  const stretches: Stretch[] = [];
  const began = run.startedAt ?? now;
  const end = run.finishedAt ?? now;
  const whole = Math.max(1, end - run.acceptedAt);
  if (began - run.acceptedAt > whole * 0.02) {
    stretches.push({ kind: "queued", from: run.acceptedAt, to: began });
  }
  if (run.startedAt === undefined) return stretches;
  let cursor = began;
  for (const step of run.steps) {
    const to = Math.min(end, cursor + (step.durationMs ?? 0));
    if (step.status === "failed") break;
    if (to > cursor) stretches.push({ kind: "done", from: cursor, to });
    cursor = to;
  }
  const last: Stretch["kind"] =
    run.status === "failed"
      ? "failed"
      : run.status === "running"
        ? "running"
        : run.status === "paused"
          ? "paused"
          : "done";
  if (end > cursor || stretches.length === 0)
    stretches.push({ kind: last, from: cursor, to: Math.max(end, cursor + 1) });
  if (run.planned > run.steps.length && run.status !== "succeeded") {
    stretches.push({ kind: "dry", from: end, to: end + whole * 0.25 });
  }
  return stretches;
}
