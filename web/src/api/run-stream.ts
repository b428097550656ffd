/** A run as it goes on: what the server streams of it, until it is over or waits. */

import { readExact } from "~/json/exact";
import { isObject, numberOf, textOf } from "./json";
import { streamEnded } from "./observers";
import { readRun } from "./read-run";
import { isFinal, type LogRecord, statusOf } from "./runs";
import type { Run } from "./schema";

type Watcher = {
  /** The whole record, whenever its state changes or a step ended. */
  onRun: (run: Run) => void;
  onStep: (name: string) => void;
  onLog: (line: LogRecord) => void;
  /** The stream begins, also once more where it broke off: steps and lines come from the first one on. */
  onOpen: () => void;
};

/** A pause ends it: it goes on when somebody resumes the run. */
export function isOver(run: Run): boolean {
  const status = statusOf(run.status);
  return isFinal(status) || status === "paused";
}

/** The run as it is when it is over. */
export function watchRun(id: string, { onRun, onStep, onLog, onOpen }: Watcher): Promise<Run> {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/v1/runs/${encodeURIComponent(id)}/sse`);
    const heard = (kind: string, act: (given: unknown) => void) =>
      source.addEventListener(kind, ({ data }) => act(readExact(String(data))));
    let latest: Run | undefined;
    heard("run", (given) => {
      // The stream has the record of `GET /v1/runs/{id}`.
      const run = given as Run;
      latest = run;
      onRun(run);
      if (!isOver(run)) return;
      source.close();
      resolve(run);
    });
    heard("step", (given) => {
      const name = isObject(given) ? textOf(given.namespace) : undefined;
      if (!isObject(given) || name === undefined) return;
      if (given.status === "running") return onStep(name);
      if (latest === undefined) return;
      // As the record will show it.
      const ended = { ...given, status: "succeeded" } as unknown as Run["steps"][number];
      const others = latest.steps.filter((each) => each.namespace !== name);
      latest = { ...latest, steps: [...others, ended] };
      onRun(latest);
    });
    heard("log", (given) => {
      const line = lineOf(given);
      if (line !== undefined) onLog(line);
    });
    source.onopen = onOpen;
    // It connects again by itself; once the server refuses, the record says why.
    source.onerror = () => {
      streamEnded();
      if (source.readyState !== EventSource.CLOSED) return;
      readRun(id).then(resolve, reject);
    };
  });
}

function lineOf(given: unknown): LogRecord | undefined {
  if (!isObject(given)) return undefined;
  return {
    at: numberOf(given.ts) ?? Date.now(),
    level: textOf(given.level) ?? "info",
    text: textOf(given.text) ?? "",
    step: textOf(given.step),
  };
}
