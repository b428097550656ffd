/** A draft as this browser keeps it until the server has it; secrets are not kept. Pure. */

import { isObject, listOf, numberOf, objectOf, textOf } from "~/api/json";
import { type CodeFiles, type Draft, noteOf, type StepDraft, type TriggerDraft } from "./model";

export function withoutSecrets(draft: Draft): Draft {
  return {
    triggers: draft.triggers.map((trigger) => {
      if (trigger.kind !== "http") return trigger;
      const { type, header } = trigger.auth;
      return { ...trigger, auth: header === undefined ? { type } : { type, header } };
    }),
    steps: draft.steps.map(({ secrets = [], ...step }) => {
      const open = <T>(values: Readonly<Record<string, T>>): Record<string, T> =>
        Object.fromEntries(Object.entries(values).filter(([name]) => !secrets.includes(name)));
      const { props, invalid } = step;
      return { ...step, props: open(props), ...(invalid && invalidOf(open(invalid))) };
    }),
  };
}

/** Reads what an earlier version of the page may have kept; `undefined` where it does not fit. */
export function keptDraft(kept: unknown): Draft | undefined {
  if (!isObject(kept) || !Array.isArray(kept.triggers) || !Array.isArray(kept.steps)) {
    return undefined;
  }
  const triggers = kept.triggers.flatMap(triggerOf);
  const steps = kept.steps.flatMap(stepOf);
  const whole = triggers.length === kept.triggers.length && steps.length === kept.steps.length;
  return whole ? { triggers, steps } : undefined;
}

function triggerOf(given: unknown): TriggerDraft[] {
  if (!isObject(given)) return [];
  const id = textOf(given.id);
  switch (given.kind) {
    case "http":
      return [{ kind: "http", id, auth: objectOf(given.auth) }];
    case "timer":
      return [
        {
          kind: "timer",
          id,
          seconds: numberOf(given.seconds),
          cron: textOf(given.cron),
          zone: textOf(given.zone) ?? "UTC",
        },
      ];
    case "source":
      return [{ kind: "source", id: id ?? "", eventName: textOf(given.eventName) ?? "" }];
    default:
      return [];
  }
}

function stepOf(given: unknown): StepDraft[] {
  if (!isObject(given)) return [];
  const key = textOf(given.key);
  const namespace = textOf(given.namespace);
  const runs = objectOf(given.runs);
  const code = textOf(runs.code);
  const component = textOf(runs.component);
  if (key === undefined || namespace === undefined) return [];
  if (code === undefined && component === undefined) return [];
  return [
    {
      key,
      namespace,
      savedAs: textOf(given.savedAs),
      runs:
        code === undefined
          ? { kind: "action", component: component ?? "" }
          : { kind: "code", code, ...filesOf(runs.files) },
      props: objectOf(given.props),
      form: textOf(given.form),
      secrets: listOf(given.secrets).map(String),
      ...sealedOf(given.sealed),
      ...invalidOf(given.invalid),
      disabled: given.disabled === true,
      ...noteOf(given.note),
    },
  ];
}

/** Code of several files, as drafts are kept and steps are copied. */
export function filesOf(given: unknown): { files?: CodeFiles } {
  const { entry, others } = objectOf(given);
  if (typeof entry !== "string") return {};
  const texts = Object.entries(objectOf(others)).flatMap(([path, text]) =>
    typeof text === "string" ? [[path, text] as const] : [],
  );
  return { files: { entry, others: Object.fromEntries(texts) } };
}

/** Fields that hold no valid value, as drafts are kept; a step without such has no entry. */
function invalidOf(given: unknown): Pick<StepDraft, "invalid"> {
  const fields = Object.entries(objectOf(given)).flatMap(([name, field]) => {
    const { label, why, draft } = objectOf(field);
    if (typeof label !== "string" || typeof why !== "string") return [];
    return [[name, { label, why, draft }] as const];
  });
  return fields.length === 0 ? { invalid: undefined } : { invalid: Object.fromEntries(fields) };
}

function sealedOf(given: unknown): Pick<StepDraft, "sealed"> {
  const { of, names } = objectOf(given);
  return typeof of === "string" ? { sealed: { of, names: listOf(names).map(String) } } : {};
}
