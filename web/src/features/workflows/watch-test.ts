/** A test run as it goes on: what the server streams of it, until it is over or waits. */

import { useRef, useState } from "react";
import { client, data } from "~/api/client";
import { isObject, numberOf, textOf } from "~/api/json";
import { isFinal, type LogRecord, statusOf, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";

type Watcher = {
  /** The whole record, whenever its state changes or a step ended. */
  onRun: (run: Run) => void;
  onStep: (name: string) => void;
  onLog: (line: LogRecord) => void;
};

/** A pause ends a test: it goes on when somebody resumes the run. */
export function isOver(run: Run): boolean {
  const status = statusOf(run.status);
  return isFinal(status) || status === "paused";
}

/** The run as it is when it is over. */
export function watchTest(id: string, { onRun, onStep, onLog }: Watcher): Promise<Run> {
  return new Promise((resolve, reject) => {
    const source = new EventSource(`/v1/runs/${encodeURIComponent(id)}/sse`);
    const heard = (kind: string, act: (given: unknown) => void) =>
      source.addEventListener(kind, ({ data }) => act(JSON.parse(String(data))));
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
    // It connects again by itself; once the server refuses, the record says why.
    source.onerror = () => {
      if (source.readyState !== EventSource.CLOSED) return;
      data(client.GET("/v1/runs/{id}", { params: { path: { id } } })).then(resolve, reject);
    };
  });
}

/** Lines of a log come in crowds: they are drawn together. */
const DRAW_MS = 200;
const LINES_MAX = 1_000;

/** A test that is under way. */
export type Going = {
  since: number;
  /** Names of the steps that it runs. */
  steps: readonly string[];
  /** The step that runs now, and those that ended. */
  running: string | undefined;
  ended: ReadonlySet<string>;
  lines: readonly LogRecord[];
  /** Somebody stopped it. */
  stops: boolean;
};

/** The test that is under way, and its stop. */
export function useGoing() {
  const [going, setGoing] = useState<Going>();
  const run = useRef<{ id: string | undefined; stops: boolean }>({ id: undefined, stops: false });
  const change = (next: Partial<Going>) => setGoing((had) => had && { ...had, ...next });
  const cancel = async (id: string) => {
    await data(client.POST("/v1/runs/{id}/cancel", { params: { path: { id } } }));
  };
  return {
    going,
    begin(steps: readonly string[]) {
      run.current = { id: undefined, stops: false };
      const none = { running: undefined, ended: new Set<string>(), lines: [], stops: false };
      setGoing({ ...none, since: Date.now(), steps });
    },
    end: () => setGoing(undefined),
    /** Follows the run of the test to its end. */
    async follow(id: string, onRun: (run: Run) => void): Promise<Run> {
      run.current.id = id;
      // It was stopped before it had an id.
      if (run.current.stops) await cancel(id);
      let lines: LogRecord[] = [];
      let drawn: ReturnType<typeof setTimeout> | undefined;
      try {
        return await watchTest(id, {
          onStep: (name) => change({ running: name }),
          onRun(now) {
            const ended = now.steps.flatMap(stepOf).map(({ name }) => name);
            setGoing((had) => {
              const running = had?.running;
              const over = running !== undefined && ended.includes(running);
              return had && { ...had, running: over ? undefined : running, ended: new Set(ended) };
            });
            onRun(now);
          },
          onLog(line) {
            lines = [...lines.slice(1 - LINES_MAX), line];
            drawn ??= setTimeout(() => {
              drawn = undefined;
              change({ lines });
            }, DRAW_MS);
          },
        });
      } finally {
        clearTimeout(drawn);
      }
    },
    /** Ends the test; where its run has no id yet, as soon as it has one. */
    async stop() {
      run.current.stops = true;
      change({ stops: true });
      const { id } = run.current;
      if (id !== undefined) await cancel(id);
    },
  };
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
