// `$.flow`: ending, pausing, repeating (reference 4). A pause takes effect after the step; the code
// goes on to its return.
import { ask } from "./ask.ts";
import type { CallContext } from "./context.ts";
import { FlowExit, jsonText, kindOf } from "./errors.ts";
import { JSON } from "./kept.ts";
import type { Bag } from "./types.ts";

const YEAR_MS = 365 * 24 * 3600 * 1000;
const SUSPEND_MS = 24 * 3600 * 1000;
const RERUNS_MAX = 10;

/** What the server needs to go on with the run later. */
export interface Pause {
  namespace: string;
  kind: "delay" | "suspend" | "rerun";
  /** From the end of the attempt: until it goes on, or for `suspend` until it is given up. */
  ms: number;
  /** For `rerun`: what its next run is told. */
  run?: { runs: number; context: unknown };
}

/** What the server tells of a step that runs again. */
export interface RunInfo extends Bag {
  runs: number;
}

/** What steps of one call share. */
export interface FlowCall {
  call: CallContext;
  /** Whether the steps are those of a workflow; a lone action has nothing to pause. */
  workflow: boolean;
  /** In a test run nothing pauses. */
  test: boolean;
  /** Where a pause of this attempt is resumed and cancelled. */
  urls: { resume_url?: string; cancel_url?: string };
  deadline: unknown;
}

export class Flow {
  readonly members: Bag;
  /** The reason where exit was called, also where the code swallowed its signal. */
  exit: string | undefined;
  pause: Pause | undefined;

  constructor(shared: FlowCall, namespace: string, run: RunInfo) {
    const { call } = shared;
    const pause = (what: Omit<Pause, "namespace"> | undefined) => {
      if (!shared.workflow) throw new Error(`$.flow.${what?.kind ?? "rerun"} pauses a workflow; this action runs outside of one`);
      if (what && shared.test) call.log("warn", `$.flow.${what.kind}() was called in the step \`${namespace}\`: a test run does not pause, it goes on`);
      else if (what) this.pause = { namespace, ...what };
      return { resume_url: shared.urls.resume_url, cancel_url: shared.urls.cancel_url };
    };
    this.members = {
      exit: (reason?: unknown) => {
        this.exit = reason === undefined ? "" : String(reason);
        throw new FlowExit(this.exit);
      },
      delay: (ms: unknown) => pause({ kind: "delay", ms: duration("delay", ms, 1) }),
      suspend: (ms: unknown = SUSPEND_MS) => pause({ kind: "suspend", ms: duration("suspend", ms ?? SUSPEND_MS, 1) }),
      rerun: (ms: unknown, context?: unknown, maxRetries: unknown = RERUNS_MAX) => {
        const most = Number(maxRetries ?? RERUNS_MAX);
        if (!Number.isInteger(most) || most < 0) throw new RangeError(`$.flow.rerun: the number of retries is an integer from 0; got ${kindOf(maxRetries)}`);
        const wait = duration("rerun", ms ?? 0, 0);
        // A copy of now: what the code does to the object later is not part of it.
        const text = jsonText(context, "the context given to $.flow.rerun");
        // After the last retry the workflow goes on with the next step.
        if (run.runs > most) return pause(undefined);
        return pause({ kind: "rerun", ms: wait, run: { runs: run.runs + 1, context: text === undefined ? null : JSON.parse(text) } });
      },
      trigger: async (workflow: unknown, event?: unknown) => {
        if (typeof workflow !== "string" || workflow === "") throw new TypeError(`$.flow.trigger: the first argument is a workflow's id, a string; got ${kindOf(workflow)}`);
        return await ask(call, "flow.trigger", { workflow_id: workflow, event: event ?? null });
      },
      refreshTimeout: () => String(shared.deadline ?? ""),
    };
  }
}

function duration(name: string, ms: unknown, least: number): number {
  const number = typeof ms === "string" && ms.trim() !== "" ? Number(ms) : ms;
  if (typeof number !== "number" || !(number >= least) || number > YEAR_MS) {
    throw new RangeError(`$.flow.${name}: the time is a number of milliseconds from ${least} to ${YEAR_MS} (a year); got ${kindOf(ms)}`);
  }
  return Math.round(number);
}
