/**
 * Parser of text pasted into the builder: a `curl` line, steps as in workflow files, or code. Pure,
 * but for the parsers.
 */

import { isObject, listOf, numberOf, objectOf, textOf } from "~/api/json";
import { stable } from "~/ui/changes";
import { filesOf } from "./kept-draft";
import { noteOf, type StepDraft, type TriggerDraft } from "./model";

export type PastedStep = Pick<StepDraft, "runs" | "props" | "disabled" | "note"> & {
  wish: string;
  secrets: string[];
};

export type Pasted =
  /** `notes`: what was pasted and is not in the steps. */
  { steps: PastedStep[]; triggers?: TriggerDraft[]; notes: string[] } | { problem: string };

const NO_STEP =
  "This is not a step. Copy a step, a workflow's YAML, a component's code or URL, or a curl command.";

export async function pastedSteps(text: string): Promise<Pasted> {
  const curl = await import("./curl");
  if (curl.isCurl(text)) {
    const found = curl.curlStep(text);
    return "problem" in found ? found : { steps: [found.step], notes: found.notes };
  }
  const steps = await stepsOfYaml(text);
  if (steps !== undefined) return steps;
  if (!/^\s*(export\s+default\b|module\.exports\s*=)|\bdefineComponent\s*\(/m.test(text))
    return { problem: NO_STEP };
  const code = { wish: "code", runs: { kind: "code", code: text } as const };
  return { steps: [{ ...code, props: {}, secrets: [], disabled: false }], notes: [] };
}

/** What the first line of YAML or JSON begins with, and no line of code. */
const BEGINS_YAML = /^(?:\s*(?:#.*)?\n)*\s*(?:---|- |[{[]|["']?[\w-]+["']?\s*:(?:\s|$))/;

async function stepsOfYaml(text: string): Promise<Pasted | undefined> {
  if (!/\b(code|code_file|component_key|component_id|steps)\s*["']?\s*:/.test(text)) return;
  const read = await readYaml(text);
  if ("problem" in read) return BEGINS_YAML.test(text) ? read : undefined;
  const { value } = read;
  const whole = isObject(value) && Array.isArray(value.steps) ? value : undefined;
  const given = whole === undefined ? listOrOne(value) : listOf(whole.steps);
  const files = given.flatMap((step) => {
    const file = isObject(step) && step.code === undefined ? textOf(step.code_file) : undefined;
    return file === undefined ? [] : [file];
  });
  if (files.length > 0) {
    return {
      problem: `The code is in ${files.join(", ")}: paste what the file holds, or deploy the folder with millrace apply.`,
    };
  }
  const steps = given.flatMap(stepOf);
  if (steps.length === 0 || steps.length !== given.length) return undefined;
  const notes = given.flatMap(notesOfStep);
  if (whole === undefined) return { steps, notes };
  const triggers = listOf(whole.triggers).map(pastedTrigger);
  const rest = Object.keys(whole).filter((name) => name !== "steps" && name !== "triggers");
  return {
    steps,
    triggers: triggers.flatMap(({ trigger }) => trigger ?? []),
    notes: [
      ...(rest.length === 0 ? [] : [`Ignored in the workflow: ${rest.join(", ")}.`]),
      ...triggers.flatMap(({ note }) => note ?? []),
      ...notes,
    ],
  };
}

async function readYaml(text: string): Promise<{ value: unknown } | { problem: string }> {
  const { parseAllDocuments } = await import("yaml");
  const [document, ...others] = parseAllDocuments(text);
  const error = [document, ...others].flatMap((each) => each?.errors ?? [])[0];
  if (error !== undefined) {
    const line = error.linePos?.[0].line ?? 1;
    const [why = ""] = error.message.split(/ at line \d|\n/);
    return { problem: `This is not YAML: line ${line}: ${why}.` };
  }
  if (others.length > 0) {
    const count = others.length + 1;
    return { problem: `It has ${count} documents, separated by ---. Paste them one by one.` };
  }
  try {
    return { value: document?.toJS() };
  } catch {
    return { problem: "This YAML expands its anchors too often." };
  }
}

function listOrOne(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

const OF_STEPS = [
  "namespace",
  "code",
  "code_files",
  "code_entry",
  "component_key",
  "key",
  "component_id",
  "props",
  "disabled",
  "note",
];

/** Values from the environment are nobody's here. */
const isFromEnvironment = (value: unknown) => isObject(value) && "$env" in value;

function stepOf(given: unknown): PastedStep[] {
  if (!isObject(given)) return [];
  const code = textOf(given.code);
  const key = textOf(given.component_key) ?? textOf(given.key) ?? textOf(given.component_id);
  if (code === undefined && key === undefined) return [];
  const files = filesOf({ entry: given.code_entry, others: given.code_files });
  return [
    {
      wish: textOf(given.namespace) ?? key?.replaceAll("-", "_") ?? "code",
      runs:
        code === undefined
          ? { kind: "action", component: key ?? "" }
          : { kind: "code", code, ...files },
      props: Object.fromEntries(
        Object.entries(objectOf(given.props)).filter(([, value]) => !isFromEnvironment(value)),
      ),
      secrets: [],
      disabled: given.disabled === true,
      ...noteOf(given.note),
    },
  ];
}

function notesOfStep(given: unknown): string[] {
  const step = objectOf(given);
  const of = textOf(step.namespace) ?? "the step";
  const rest = Object.keys(step).filter((name) => !OF_STEPS.includes(name));
  const values = Object.entries(objectOf(step.props)).flatMap(([name, value]) =>
    isFromEnvironment(value) ? [name] : [],
  );
  return [
    ...(rest.length === 0 ? [] : [`Ignored in ${of}: ${rest.join(", ")}.`]),
    ...(values.length === 0
      ? []
      : [`Enter the values that ${of} had from the environment: ${values.join(", ")}.`]),
  ];
}

function pastedTrigger(given: unknown): { trigger?: TriggerDraft; note?: string } {
  const trigger = objectOf(given);
  const props = objectOf(trigger.props);
  switch (trigger.type) {
    case "http": {
      const { type = "none", header } = objectOf(props.auth ?? trigger.auth);
      const auth = { type, ...(typeof header === "string" ? { header } : {}) };
      const isOpen = type === "none" || type === "api_key";
      return {
        trigger: { kind: "http", id: undefined, auth },
        ...(isOpen ? {} : { note: "Enter the secret of the HTTP trigger." }),
      };
    }
    case "timer":
      return {
        trigger: {
          kind: "timer",
          id: undefined,
          seconds: numberOf(props.intervalSeconds),
          cron: textOf(props.cron),
          zone: textOf(props.timezone) ?? "UTC",
        },
      };
    case "source": {
      const id = textOf(trigger.id);
      const eventName = textOf(trigger.event_name) ?? "";
      if (id !== undefined) return { trigger: { kind: "source", id, eventName } };
      return { note: `Add the trigger on the source ${textOf(trigger.source) ?? "yourself"}.` };
    }
    default:
      return { note: `Ignored: a trigger of the type ${String(trigger.type)}.` };
  }
}

/** Triggers of a draft, and those that were pasted and are not among them. */
export function withTriggers(
  triggers: readonly TriggerDraft[],
  pasted: readonly TriggerDraft[],
): TriggerDraft[] {
  const text = (trigger: TriggerDraft) =>
    stable(trigger.kind === "source" ? trigger : { ...trigger, id: undefined });
  const known = new Set(triggers.map(text));
  return [...triggers, ...pasted.filter((each) => !known.has(text(each)))];
}

/** A step as workflow files have it; values of secrets are not in it. */
export function stepYaml(step: StepDraft): string {
  const { secrets = [] } = step;
  const props = Object.entries(step.props).filter(([name]) => !secrets.includes(name));
  const lines = [`namespace: ${step.namespace}`];
  if (step.runs.kind === "action")
    lines.push(`component_key: ${JSON.stringify(step.runs.component)}`);
  else {
    const code = step.runs.code.replace(/\n+$/, "");
    lines.push("code: |2", ...code.split("\n").map((line) => (line === "" ? "" : `  ${line}`)));
    const { entry, others = {} } = step.runs.files ?? {};
    if (entry !== undefined) lines.push(`code_entry: ${JSON.stringify(entry)}`);
    // JSON is YAML, too.
    if (Object.keys(others).length > 0) lines.push(`code_files: ${JSON.stringify(others)}`);
  }
  if (props.length > 0) {
    lines.push("props:");
    for (const [name, value] of props)
      lines.push(`  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  if (step.disabled) lines.push("disabled: true");
  if (step.note !== undefined) lines.push(`note: ${JSON.stringify(step.note)}`);
  return `${lines.join("\n")}\n`;
}
