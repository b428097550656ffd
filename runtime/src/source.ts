// Execution of a source or one of its hooks.
import { findApps } from "./additional.ts";
import type { CallContext } from "./context.ts";
import { formDb, serviceDb } from "./db.ts";
import { fileDir } from "./dir.ts";
import { jsonText } from "./errors.ts";
import type { Prepared } from "./instance.ts";
import { dirsOf, mirror } from "./mirror.ts";
import type { ResolvedProp } from "./props.ts";
import { executeRequest } from "./request.ts";
import { answerRefused, httpInterface } from "./respond.ts";
import { dataStore } from "./store.ts";
import type { Bag, CallFrame, Fn } from "./types.ts";

export async function runSource(prepared: Prepared, frame: CallFrame, call: CallContext): Promise<unknown> {
  const dynamic = frame["dynamic_props"];
  if (prepared.unknownApps(dynamic).length > 0) await findApps(prepared, dynamic, sourceInstance(prepared, { ...frame, kind: "additional_props" }, call), call);
  const self = sourceInstance(prepared, frame, call);
  const hook = frame["hook"] as string | null;
  if (hook) {
    const run = prepared.component.hooks?.[hook];
    if (typeof run !== "function") return undefined;
    return await entered(call, () => (run as Fn).call(self));
  }
  const event = withHeaderLookup(frame["event"]);
  if (typeof prepared.component.run !== "function") {
    (self["$emit"] as Fn)(event, { id: timestampOf(event), ts: Date.now() });
    return undefined;
  }
  try {
    return await ranOnce(prepared, prepared.component.run, frame, call, self, event);
  } finally {
    answerRefused(call);
  }
}

async function ranOnce(prepared: Prepared, run: Fn, frame: CallFrame, call: CallContext, self: Bag, event: unknown): Promise<unknown> {
  const dirs = dirsOf(prepared.propsWith(frame["dynamic_props"]), (frame["props"] ?? {}) as Bag);
  const keep = dirs.length === 0 ? undefined : await mirror(dirs, call);
  const returned = await entered(call, () => run.call(self, event));
  await keep?.();
  return returned;
}

/**
 * Runs code and reports `entered` at its first `await`. Reported before the code, another process might get the CPU first, and
 * begin the next event's code before this one's.
 */
function entered(call: CallContext, run: () => unknown): unknown {
  const returned = run();
  call.tellEntered();
  return returned;
}

/** The instance of a call: a run, a hook, an options method or additionalProps share its context. */
export function sourceInstance(prepared: Prepared, frame: Bag, call: CallContext): Bag {
  const runs = frame["kind"] === "source";
  const emit: Fn = (event, meta) => {
    // A form emits nothing, and neither does additionalProps that a run calls.
    if (!runs) return Promise.resolve();
    // Sent before this returns, so that it is kept whether or not the promise is awaited.
    const eventText = jsonText(event, "the emitted event");
    const metaText = meta === undefined || meta === null ? "{}" : jsonText(meta, "the metadata of an emitted event", spellBigInt);
    const to = call.live;
    if (to.done) to.log("warn", "an event was emitted after the run had ended; it is not kept");
    else to.sendText(`"t":"emit",${eventText === undefined ? "" : `"event":${eventText},`}"meta":${metaText ?? "{}"}}`);
    return Promise.resolve();
  };
  const hook = frame["hook"] as string | null | undefined;
  let db: object | undefined;
  const services = {
    emit,
    db: () => (db ??= (runs ? serviceDb : formDb)(call, frame["db"])),
    http: (endpoint: string) => httpInterface(endpoint, call, hook ? `the ${hook} hook` : undefined),
    execute: executeRequest,
    dataStore: (store: unknown) => dataStore(store, call),
    fileDir: (prop: ResolvedProp, store: string) => fileDir(prop, store, call),
    runs,
  };
  return prepared.instance((frame["props"] ?? {}) as Bag, services, frame["dynamic_props"]);
}

/** Databases give ids as BigInt; an id may be a string. */
function spellBigInt(_key: string, value: unknown): unknown {
  return typeof value === "bigint" ? value.toString() : value;
}

function timestampOf(event: unknown): unknown {
  return (event as Bag | null)?.["timestamp"] ?? Date.now();
}

/** Header names are lower case; a look-up in any case works (reference 3). */
export function withHeaderLookup(event: unknown): unknown {
  if (event === null || typeof event !== "object") return event;
  const headers = (event as Bag)["headers"];
  if (headers === null || typeof headers !== "object" || !("method" in event)) return event;
  (event as Bag)["headers"] = new Proxy(headers as Bag, headerLookup);
  return event;
}

const headerLookup: ProxyHandler<Bag> = {
  get: (target, name) => {
    if (typeof name !== "string" || name in target) return Reflect.get(target, name) as unknown;
    return target[name.toLowerCase()];
  },
};
