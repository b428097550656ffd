// The program that runs inside a host. It reads calls off the wire and answers them; see PROTOCOL.md.
import { CallContext, calls } from "./context.ts";
import { loadDb } from "./db.ts";
import { describe } from "./describe.ts";
import { dollar } from "./dollar.ts";
import { wireError } from "./errors.ts";
import { loadModules, moduleOf } from "./load.ts";
import { captureLogs } from "./logs.ts";
import { runAdditionalProps, runOptions } from "./options.ts";
import { runSource } from "./source.ts";
import { leadTmp } from "./tmp.ts";
import type { Bag, CallFrame } from "./types.ts";
import { Wire } from "./wire.ts";
import { runAction, runWorkflow, StepFailure } from "./workflow.ts";

const wire = new Wire();
const underWay = new Map<number, CallContext>();

async function load(frame: Bag): Promise<void> {
  try {
    Object.assign(process.env, frame["env"]);
    leadTmp(String(frame["tmp"]));
    loadDb(frame["db"] as Record<string, unknown> | null);
    await loadModules(frame["modules"] as { name: string; path: string }[]);
    wire.send({ t: "loaded" });
  } catch (error) {
    wire.send({ t: "load_failed", error: wireError(error) });
  }
}

async function answer(frame: CallFrame, call: CallContext): Promise<Bag> {
  switch (frame.kind) {
    case "workflow": {
      const exit = await runWorkflow(frame, call);
      return exit === undefined ? { result: null } : { result: null, exit: { reason: exit } };
    }
    case "source":
      return { result: await runSource(moduleOf(frame["module"]), frame, call) };
    case "action": {
      const $ = dollar((frame["context"] ?? {}) as Bag, call, "action");
      const result = await runAction(String(frame["module"]), (frame["props"] ?? {}) as Bag, {}, $, "action");
      return { result: { $return_value: result, ...$.exports } };
    }
    case "describe":
      return { result: describe(moduleOf(frame["module"])) };
    case "options":
      return { result: await runOptions(moduleOf(frame["module"]), frame, call) };
    case "additional_props":
      return { result: await runAdditionalProps(moduleOf(frame["module"]), frame, call) };
    default:
      throw new Error(`a call of the unknown kind ${String(frame.kind)}`);
  }
}

function failure(error: unknown): Bag {
  const known = error instanceof StepFailure;
  return { ok: false, error: wireError(known ? error.error : error), ...(known ? { namespace: error.namespace } : {}) };
}

async function perform(frame: CallFrame, call: CallContext): Promise<void> {
  const stray = new Promise<never>((_, reject) => {
    call.fail = reject;
  });
  try {
    const done = await Promise.race([answer(frame, call), stray]);
    if (call.pending.length > 0) await Promise.all(call.pending);
    call.finish({ ok: true, ...withResult(done, frame) });
  } catch (error) {
    call.finish(failure(error));
  } finally {
    underWay.delete(call.id);
  }
}

/** A source's return value is only shown: where it is no JSON it is left out. */
function withResult(done: Bag, frame: CallFrame): Bag {
  if (frame.kind !== "source") return done;
  try {
    return { ...done, result: JSON.parse(JSON.stringify(done["result"] ?? null)) as unknown };
  } catch {
    return { ...done, result: null };
  }
}

function onFrame(frame: Bag): void {
  switch (frame["t"]) {
    case "load":
      void load(frame);
      break;
    case "call": {
      const call = new CallContext(frame["id"] as number, wire);
      underWay.set(call.id, call);
      calls.run(call, () => void perform(frame as CallFrame, call));
      break;
    }
    case "cancel":
      wire.send({ t: "cancelled", id: frame["id"] });
      break;
  }
}

/** An error that nobody awaited belongs to the call that caused it. */
function stray(error: unknown): void {
  const call = calls.getStore();
  if (call && !call.done) {
    call.fail(error);
  }
}

captureLogs();
process.exit = ((code?: number) => {
  throw new Error(`process.exit(${code ?? ""}) was called: code that runs here cannot end the process; return or throw instead`);
}) as typeof process.exit;
process.on("uncaughtException", stray);
process.on("unhandledRejection", stray);
wire.start(onFrame);
wire.send({ t: "hello", protocol: 1, node: process.version });
