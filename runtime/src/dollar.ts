// `$`: the API of a step beside its return value (spec 2.9, reference 4).
import { jsonText } from "./errors.ts";
import { Flow, type FlowCall, type RunInfo } from "./flow.ts";
import { respond } from "./respond.ts";
import { senders } from "./send.ts";
import type { Bag } from "./types.ts";

export interface Dollar {
  members: Bag;
  /** JSON text of each export. */
  exports: Map<string, string>;
  flow: Flow;
}

/** `context`: what the server told of the run, for this step; `run`: of this step, where it runs again. */
export function dollar(context: () => Bag, shared: FlowCall, namespace: string, run: RunInfo = { runs: 1 }): Dollar {
  const { call } = shared;
  const exports = new Map<string, string>();
  const flow = new Flow(shared, namespace, run);
  let send: Bag | undefined;
  let own: Bag | undefined;
  const members = {
    // A copy: what a step does to it is not seen by the next.
    get context() {
      return (own ??= { ...context(), run: { ...run } });
    },
    set context(value) {
      own = value;
    },
    export(name: unknown, value: unknown) {
      const key = String(name);
      // Text of now: what the code does to the object later does not change the export.
      const text = jsonText(value, `the export \`${key}\` of the step \`${namespace}\``);
      if (text === undefined) exports.delete(key);
      else exports.set(key, text);
      // Exports of a step are sent while it is the one under way, not after another began.
      if (call.namespace === namespace) call.hasExported = true;
    },
    respond: (response: unknown) => respond(response, call),
    flow: flow.members,
    // Few steps send anything.
    get send() {
      return (send ??= senders(call));
    },
  };
  return { members, exports, flow };
}
