/**
 * Check for a draft that is plainly incomplete: it is not saved automatically, while an explicit
 * save still sends it.
 */

import type { Draft, StepDraft, TriggerDraft } from "./model";
import { nameProblem } from "./step-names";

/** Line of the first thing in code that cannot be read. */
type Judge = (code: string) => Promise<number | undefined>;

/** A reason as a part of a sentence, or `undefined` where nothing is missing. */
export async function unfinished(
  draft: Draft,
  judge: Judge = byTypeScript,
): Promise<string | undefined> {
  if (draft.triggers.some((each) => each.kind === "source" && each.id === "")) {
    return "a trigger needs its source";
  }
  if (draft.triggers.some(isTimerWithoutTimes))
    return "a schedule needs an interval or a cron expression";
  for (const step of draft.steps) {
    if (nameProblem(draft.steps, step) !== undefined)
      return `${step.namespace} is not a valid name`;
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
    const { code } = step.runs;
    const line = (await isReadByGrammar(code)) ? undefined : await judge(code);
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

/**
 * Whether the highlighter's grammar reads the code. It lacks some syntax of both languages, so that
 * it only spares most drafts the question to TypeScript.
 */
async function isReadByGrammar(code: string): Promise<boolean> {
  const { parser } = await import("@lezer/javascript");
  const cursor = parser.configure({ dialect: "ts jsx" }).parse(code).cursor();
  do {
    if (cursor.type.isError) return false;
  } while (cursor.next());
  return true;
}

/** Asks the worker of the editors. Where it cannot be had the server judges the code. */
async function byTypeScript(code: string): Promise<number | undefined> {
  try {
    const { unreadableLine } = await import("~/ui/code/language/client");
    return await unreadableLine(code);
  } catch {
    return undefined;
  }
}

function textsOf(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value !== "object" || value === null) return [];
  return Object.values(value).flatMap(textsOf);
}
