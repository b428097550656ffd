/**
 * Parser of text pasted into the builder: a `curl` line, steps as in workflow files, or code. Pure,
 * but for the parsers.
 */

import { isObject, objectOf, textOf } from "~/api/json";
import { noteOf, type StepDraft } from "./model";

export type PastedStep = Pick<StepDraft, "runs" | "props" | "disabled" | "note"> & {
  wish: string;
  secrets: string[];
};

export type Pasted =
  /** `notes`: what was pasted and is not in the steps. */
  { steps: PastedStep[]; notes: string[] } | { problem: string };

const NO_STEP =
  "It is no step: copy one here, a workflow's YAML, a component's code or address, or a curl line.";

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

async function stepsOfYaml(text: string): Promise<Pasted | undefined> {
  if (!/\b(code|code_file|component_key|steps)\s*["']?\s*:/.test(text)) return undefined;
  const { parse } = await import("yaml");
  let value: unknown;
  try {
    value = parse(text);
  } catch {
    return undefined;
  }
  const given = isObject(value) && Array.isArray(value.steps) ? value.steps : listOrOne(value);
  const files = given.flatMap((step) => {
    const file = isObject(step) && step.code === undefined ? textOf(step.code_file) : undefined;
    return file === undefined ? [] : [file];
  });
  if (files.length > 0) {
    return {
      problem: `The code is in ${files.join(", ")}: paste what the file holds, or bring the folder with millrace apply.`,
    };
  }
  const steps = given.flatMap(stepOf);
  const isAll = steps.length > 0 && steps.length === given.length;
  return isAll ? { steps, notes: [] } : undefined;
}

function listOrOne(value: unknown): unknown[] {
  return Array.isArray(value) ? value : [value];
}

function stepOf(given: unknown): PastedStep[] {
  if (!isObject(given)) return [];
  const code = textOf(given.code);
  const key = textOf(given.component_key) ?? textOf(given.key);
  if (code === undefined && key === undefined) return [];
  return [
    {
      wish: textOf(given.namespace) ?? key?.replaceAll("-", "_") ?? "code",
      runs: code === undefined ? { kind: "action", component: key ?? "" } : { kind: "code", code },
      // Values from the environment are nobody's here.
      props: Object.fromEntries(
        Object.entries(objectOf(given.props)).filter(
          ([, value]) => !(isObject(value) && "$env" in value),
        ),
      ),
      secrets: [],
      disabled: given.disabled === true,
      ...noteOf(given.note),
    },
  ];
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
  }
  if (props.length > 0) {
    lines.push("props:");
    // JSON is YAML, too.
    for (const [name, value] of props)
      lines.push(`  ${JSON.stringify(name)}: ${JSON.stringify(value)}`);
  }
  if (step.disabled) lines.push("disabled: true");
  if (step.note !== undefined) lines.push(`note: ${JSON.stringify(step.note)}`);
  return `${lines.join("\n")}\n`;
}
