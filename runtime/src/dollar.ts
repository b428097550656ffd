// `$`: what a step can do beside returning a value (spec 2.9, reference 4).
import type { CallContext } from "./context.ts";
import { FlowExit, jsonText } from "./errors.ts";
import { respond } from "./respond.ts";
import type { Bag } from "./types.ts";

export interface Dollar {
  members: Bag;
  exports: Bag;
  /** The reason where exit was called, also where the code swallowed its signal. */
  exit(): string | undefined;
}

const notYet = (name: string) => () => {
  throw new Error(`$.flow.${name} is not available in this version of Millrace`);
};

export function dollar(context: Bag, call: CallContext, namespace: string): Dollar {
  const exports: Bag = {};
  let exitReason: string | undefined;
  const send = (kind: string, payload: unknown) => {
    call.sendText(`"t":"send","kind":"${kind}","payload":${jsonText(payload ?? null, `what $.send.${kind} sends`) ?? "null"}}`);
  };
  const members = {
    context,
    export(name: unknown, value: unknown) {
      const key = String(name);
      // A copy of now: what the code does to the object later does not change the export.
      const text = jsonText(value, `the export \`${key}\` of the step \`${namespace}\``);
      exports[key] = text === undefined ? undefined : (JSON.parse(text) as unknown);
    },
    respond: (response: unknown) => respond(response, call),
    flow: {
      exit(reason?: unknown) {
        exitReason = reason === undefined ? "" : String(reason);
        throw new FlowExit(exitReason);
      },
      delay: notYet("delay"),
      suspend: notYet("suspend"),
      rerun: notYet("rerun"),
      trigger: notYet("trigger"),
      refreshTimeout: () => String(context["deadline"] ?? ""),
    },
    send: {
      http: (payload: unknown) => send("http", payload),
      email: (payload: unknown) => send("email", payload),
      s3: (payload: unknown) => send("s3", payload),
      sse: (payload: unknown) => send("sse", payload),
      // Both forms are in use: (event, channel) and ({raw_event, event?, name?}).
      emit: (event: unknown, channel?: unknown) => {
        const wrapped = event !== null && typeof event === "object" && "raw_event" in event;
        send("emit", wrapped ? event : { raw_event: event, name: channel });
      },
    },
  };
  return { members, exports, exit: () => exitReason };
}
