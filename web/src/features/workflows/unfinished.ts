/**
 * Check for a draft that is plainly incomplete: it is not saved automatically, while an explicit
 * save still sends it.
 */

import type { Draft, StepDraft, TriggerDraft } from "./model";
import { nameProblem } from "./step-names";

/** A reason as a part of a sentence, or `undefined` where nothing is missing. */
export async function unfinished(draft: Draft): Promise<string | undefined> {
  if (draft.triggers.some((each) => each.kind === "source" && each.id === "")) {
    return "a trigger needs its source";
  }
  if (draft.triggers.some(isTimerWithoutTimes)) return "a schedule needs its times";
  for (const step of draft.steps) {
    if (nameProblem(draft.steps, step) !== undefined) return `the name ${step.namespace} cannot be`;
    const invalid = invalidIn([step]);
    if (invalid !== undefined) return invalid;
    for (const text of textsOf(step.props)) {
      const open = text.lastIndexOf("{{");
      if (open >= 0 && !text.includes("}}", open)) {
        return `an expression of ${step.namespace} is not closed`;
      }
    }
    if (step.runs.kind !== "code") continue;
    if (step.runs.code.trim() === "") return `${step.namespace} has no code yet`;
    const line = await brokenLine(step.runs.code);
    if (line !== undefined) return `line ${line} of ${step.namespace} seems unfinished`;
  }
  return undefined;
}

/** The first field of the steps that holds no valid value, as a part of a sentence. */
export function invalidIn(steps: readonly StepDraft[]): string | undefined {
  for (const { namespace, invalid = {} } of steps) {
    const [field] = Object.values(invalid);
    if (field !== undefined) return `${field.label} of ${namespace} is not valid`;
  }
  return undefined;
}

function isTimerWithoutTimes(trigger: TriggerDraft): boolean {
  return (
    trigger.kind === "timer" &&
    trigger.seconds === undefined &&
    (trigger.cron === undefined || trigger.cron.trim() === "")
  );
}

/** The first line that cannot be read as JavaScript or TypeScript. */
async function brokenLine(code: string): Promise<number | undefined> {
  const { parser } = await import("@lezer/javascript");
  const cursor = parser.configure({ dialect: "ts jsx" }).parse(code).cursor();
  do {
    if (cursor.type.isError) return code.slice(0, cursor.from).split("\n").length;
  } while (cursor.next());
  return undefined;
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
