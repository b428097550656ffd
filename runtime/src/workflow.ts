// Running a workflow: its steps in order, each with `this`, `steps` and `$`.
import type { CallContext } from "./context.ts";
import { dollar, type Dollar } from "./dollar.ts";
import { FlowExit, jsonText } from "./errors.ts";
import { evaluate } from "./expressions.ts";
import { moduleOf } from "./load.ts";
import { withHeaderLookup } from "./source.ts";
import { executeRequest } from "./request.ts";
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

/** Returns the reason where `$.flow.exit` ended it. */
export async function runWorkflow(frame: CallFrame, call: CallContext): Promise<string | undefined> {
  const trigger = frame["trigger"] as { event: unknown; context: unknown };
  withHeaderLookup(trigger.event);
  const steps: Bag = { trigger };
  const results = (frame["results"] ?? {}) as Record<string, Bag>;
  for (const step of frame["steps"] as StepSpec[]) {
    if (step.disabled) continue;
    const earlier = results[step.namespace];
    if (earlier) {
      steps[step.namespace] = earlier;
      continue;
    }
    call.sendText(`"t":"step","namespace":${JSON.stringify(step.namespace)},"state":"started"}`);
    const exit = await runStep(step, steps, frame["context"] as Bag, call);
    if (exit !== undefined) return exit;
  }
  return undefined;
}

async function runStep(step: StepSpec, steps: Bag, context: Bag, call: CallContext): Promise<string | undefined> {
  const started = performance.now();
  const $ = dollar(context, call, step.namespace);
  let exit: string | undefined;
  try {
    const returned = await runAction(step.module, step.props, steps, $, step.namespace);
    if (call.pending.length > 0) await Promise.all(call.pending.splice(0));
    if (returned !== undefined) $.exports["$return_value"] = returned;
    exit = $.exit();
  } catch (error) {
    exit = $.exit() ?? endReason(error);
    if (exit === undefined) throw new StepFailure(step.namespace, error);
  }
  const text = exportsText($.exports, step.namespace);
  // Later steps see what was recorded: a copy, as after a restart.
  steps[step.namespace] = JSON.parse(text) as Bag;
  const duration = Math.round(performance.now() - started);
  call.sendText(`"t":"step","namespace":${JSON.stringify(step.namespace)},"state":"finished","duration_ms":${duration},"exports":${text}}`);
  return exit;
}

export async function runAction(module: string, props: Bag, steps: Bag, $: Dollar, namespace: string): Promise<unknown> {
  const prepared = moduleOf(module);
  const values: Bag = {};
  for (const [name, value] of Object.entries(props)) values[name] = evaluate(value, steps, `the prop \`${name}\` of the step \`${namespace}\``);
  const self = prepared.instance(values, { execute: executeRequest });
  return await prepared.component.run?.call(self, { steps, $: $.members });
}

function exportsText(exports: Bag, namespace: string): string {
  try {
    return JSON.stringify(exports);
  } catch {
    for (const [name, value] of Object.entries(exports)) {
      try {
        jsonText(value, `the export \`${name}\` of the step \`${namespace}\``);
      } catch (error) {
        throw new StepFailure(namespace, error);
      }
    }
    throw new StepFailure(namespace, new TypeError(`the exports of the step \`${namespace}\` are not JSON-serializable`));
  }
}

/** The platform module's `$end` throws an error that carries its message. */
function endReason(error: unknown): string | undefined {
  if (error instanceof FlowExit) return error.reason;
  const end = (error as { __pd_end?: { message?: unknown } } | null | undefined)?.__pd_end;
  return end ? String(end.message ?? "") : undefined;
}
