/** A test that is under way, as the builder shows it. */

import { useRef, useState } from "react";
import { client, data } from "~/api/client";
import { watchRun } from "~/api/run-stream";
import { type LogRecord, stepOf } from "~/api/runs";
import type { Run } from "~/api/schema";

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
        return await watchRun(id, {
          onOpen() {
            lines = [];
          },
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
