// Execution of a workflow: its steps in order, each with `this`, `steps` and `$`.
import { findApps } from "./additional.ts";
import { calls, type CallContext } from "./context.ts";
import { fileDir } from "./dir.ts";
import { dollar, type Dollar } from "./dollar.ts";
import { FlowExit, jsonText, text } from "./errors.ts";
import { evaluate, holdsExpression } from "./expressions.ts";
import type { FlowCall, Pause, RunInfo } from "./flow.ts";
import { HandedOn } from "./handed.ts";
import { isA, read } from "./instances.ts";
import { eachEntry, JSON } from "./kept.ts";
import { moduleOf } from "./load.ts";
import { dirsOf, mirror } from "./mirror.ts";
import { isObject, ownOf, put, type ResolvedProp } from "./props.ts";
import { executeRequest } from "./request.ts";
import { shownProps } from "./shown.ts";
import { dataStore } from "./store.ts";
import type { Bag, CallFrame, StepSpec } from "./types.ts";

/** An error that knows its step. */
export class StepFailure {
  readonly namespace: string;
  readonly error: unknown;
  constructor(namespace: string, error: unknown) {
    this.namespace = namespace;
    this.error = error;
  }
}

/** How a workflow ended before its last step. */
export interface Ending {
  exit?: string;
  paused?: Pause & { exports?: string; duration_ms: number };
}

/** `text`: the frame as it came. */
export async function runWorkflow(frame: CallFrame, text: string, call: CallContext): Promise<Ending | undefined> {
  const handed = new HandedOn(frame, text);
  const results = (frame["results"] ?? {}) as Record<string, Bag>;
  const resume = frame["resume"] as { namespace: string; run: RunInfo } | undefined;
  const test = frame["test"] === true;
  const deadline = Date.now() + frame.deadline_ms;
  const contextOf = (one: CallFrame) => ({ deadline, JIT: test, test, ...(one["trigger"] as { context: Bag | null }).context, ...(one["context"] as Bag | undefined) });
  const shared: FlowCall = { call, workflow: true, test, urls: (frame["flow"] ?? {}) as FlowCall["urls"], deadline: contextOf(frame).deadline };
  let first = true;
  for (const step of frame["steps"] as StepSpec[]) {
    if (step.disabled) continue;
    const { namespace } = step;
    // Names such as `constructor` and `__proto__` are names of steps like others.
    if (Object.hasOwn(results, namespace) && results[namespace]) {
      handed.finished(namespace);
      continue;
    }
    // A run that failed through what an earlier step left behind, or that nobody waits for, starts no further step.
    if (call.done) return undefined;
    // The call begins with its first step: the server knows that one.
    if (!first) call.sendText(`"t":"step","namespace":${JSON.stringify(namespace)},"state":"started"}`);
    first = false;
    const own = handed.frame();
    const $ = dollar(() => contextOf(own()), shared, namespace, resume?.namespace === namespace ? { ...resume.run } : undefined);
    call.enter(namespace, () => exportsText($.exports));
    const ending = await calls.run({ call, namespace }, runStep, step, handed, handed.steps(own), $, call);
    if (ending) return ending;
  }
  return undefined;
}

async function runStep(step: StepSpec, handed: HandedOn, steps: Bag, $: Dollar, call: CallContext): Promise<Ending | undefined> {
  const { namespace } = step;
  const started = performance.now();
  try {
    const values = step.literal ? step.props : evaluated(step, steps);
    const shown = shownProps(moduleOf(step.module).propsWith(step.dynamic_props), values);
    if (shown !== undefined) call.sendText(`"t":"step","namespace":${JSON.stringify(namespace)},"state":"props","props":${shown}}`);
    const returned = await runAction(step.module, values, steps, $, namespace, call, step.dynamic_props, isUndecided(step));
    if (call.waits) await call.settled();
    recordReturned($, returned, namespace);
  } catch (error) {
    const reason = endReason(error);
    if ($.flow.exit === undefined && reason === undefined) throw new StepFailure(namespace, error);
    $.flow.exit ??= reason;
  }
  const text = exportsText($.exports);
  const duration_ms = Math.round(performance.now() - started);
  const paused = $.flow.exit === undefined ? $.flow.pause : undefined;
  // A step that runs again is not finished.
  if (paused?.kind === "rerun") return { paused: { ...paused, exports: text, duration_ms } };
  try {
    call.hold(`"t":"step","namespace":${JSON.stringify(namespace)},"state":"finished","duration_ms":${duration_ms},"exports":${text}}`);
  } catch (error) {
    throw new StepFailure(namespace, error);
  }
  call.exported = undefined;
  if ($.flow.exit !== undefined) return { exit: $.flow.exit };
  if (paused) return { paused: { ...paused, duration_ms } };
  handed.finished(namespace, text);
  return undefined;
}

function evaluated({ module, props, namespace, dynamic_props }: StepSpec, steps: Bag): Bag {
  const defs = moduleOf(module).propsWith(dynamic_props);
  const values: Bag = {};
  for (const name in props) {
    const value = props[name];
    const def = defs.find((each) => each.name === name);
    const isSecret = def?.definition["secret"] === true;
    if (def?.type === "http_request" && isObject(value)) {
      const field = ([key, of]: [string, unknown]) => [key, evaluate(of, steps, name, namespace, isSecret || key === "auth" || key === "headers" || key === "params")];
      put(values, name, Object.fromEntries(Object.entries(value).map(field)));
    } else {
      put(values, name, evaluate(value, steps, name, namespace, isSecret));
    }
  }
  return values;
}

/** Whether a prop that decides on the others, one with `reloadProps` or where none has it any, is an expression. */
function isUndecided({ literal, module, props, dynamic_props }: StepSpec): boolean {
  if (literal || !Array.isArray(dynamic_props)) return false;
  const defs = moduleOf(module).propsWith(dynamic_props);
  const reloading = defs.filter((def) => def.definition["reloadProps"] === true);
  return (reloading.length > 0 ? reloading : defs).some((def) => holdsExpression(ownOf(props, def.name)));
}

export async function runAction(module: string, values: Bag, steps: Bag, $: Dollar, namespace: string, call: CallContext, dynamic?: unknown, undecided = false): Promise<unknown> {
  const prepared = moduleOf(module);
  const services = {
    execute: executeRequest,
    dataStore: (store: unknown) => dataStore(store, call),
    fileDir: (prop: ResolvedProp, store: string) => fileDir(prop, store, call),
  };
  if (prepared.unknownApps(dynamic).length > 0) await findApps(prepared, dynamic, prepared.instance(values, services, dynamic), call);
  const self = prepared.instance(values, { ...services, runs: true, undecided }, dynamic);
  const dirs = dirsOf(prepared.propsWith(dynamic), values);
  const keep = dirs.length > 0 ? await mirror(dirs, call) : undefined;
  try {
    const returned = await prepared.component.run?.call(self, { steps, $: $.members });
    await keep?.();
    return returned;
  } catch (error) {
    // To end the workflow is to end well.
    if (keep && endReason(error) !== undefined) await keep();
    throw error;
  }
}

/** The returned value becomes an export, last; functions and what else JSON has no word for are no value. */
export function recordReturned($: Dollar, returned: unknown, namespace: string): void {
  if (returned === undefined || typeof returned === "function" || typeof returned === "symbol") return;
  const text = jsonText(returned, `the value returned by the step \`${namespace}\``);
  if (text !== undefined) $.exports.set("$return_value", text);
}

export function exportsText(exports: Map<string, string>): string {
  let text = "";
  eachEntry(exports, (value, name) => {
    text += `${text === "" ? "{" : ","}${JSON.stringify(name)}:${value}`;
  });
  return text === "" ? "{}" : `${text}}`;
}

/** The platform module's `$end` throws an error that carries its message. */
function endReason(error: unknown): string | undefined {
  if (isA(error, FlowExit)) return error.reason;
  const end = read(error, "__pd_end");
  return end ? text(read(end, "message") ?? "") : undefined;
}
