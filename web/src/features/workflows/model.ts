/** A workflow's draft as the builder edits it, read from the record. Pure. */

import { isObject, type JsonObject, listOf, numberOf, objectOf, textOf } from "~/api/json";
import { type PropDef, propsOf } from "~/api/props";
import type { Start } from "~/shell/starts";
import { stable } from "~/ui/changes";
import { every } from "~/ui/format";

export type TriggerDraft =
  | {
      kind: "http";
      /** Of one that is saved: its address belongs to it. */
      id: string | undefined;
      auth: JsonObject;
    }
  | {
      kind: "timer";
      id: string | undefined;
      seconds: number | undefined;
      cron: string | undefined;
      zone: string;
    }
  | { kind: "source"; id: string; eventName: string };

/** Code of several files, or of one that is not named after its step. */
export type CodeFiles = { entry: string; others: Record<string, string> };

/** `draft`: state of the field, as the form reads it again. */
export type InvalidFields = Readonly<
  Record<string, { label: string; why: string; draft: unknown }>
>;

export type StepDraft = {
  /** Identity within the builder; a name may change. */
  key: string;
  namespace: string;
  /** Name that the saved draft has for it; `undefined` for a step that was never saved. */
  savedAs: string | undefined;
  runs: { kind: "code"; code: string; files?: CodeFiles } | { kind: "action"; component: string };
  /** Values without secrets that are stored. */
  props: JsonObject;
  /** What fields hold that is no valid value (yet), by prop; `props` keeps the last valid one. */
  invalid?: InvalidFields | undefined;
  /** Names of values that this browser must not keep. */
  secrets?: string[];
  /** Names of secrets that the server has, and the saved step that it has them for. */
  sealed?: { of: string; names: string[] };
  /** Form that the values were filled in with. */
  form?: string | undefined;
  disabled: boolean;
  /** What people say of it. */
  note?: string | undefined;
};

export type Draft = { triggers: TriggerDraft[]; steps: StepDraft[] };

/** What the server knows of a saved step beside what is edited. */
export type SavedStep = {
  namespace: string;
  componentId: string | undefined;
  code: string;
  componentKey: string | undefined;
  version: string | undefined;
  defs: PropDef[];
  sealed: string[];
  others: Record<string, string>;
  entry: string | undefined;
  isAction: boolean;
};

/** Records never change: each is read once, and not with every key that is typed. */
const readSteps = new WeakMap<readonly unknown[], readonly SavedStep[]>();

export function savedStepsOf(steps: readonly unknown[]): readonly SavedStep[] {
  const known = readSteps.get(steps) ?? readSavedSteps(steps);
  readSteps.set(steps, known);
  return known;
}

function readSavedSteps(steps: readonly unknown[]): SavedStep[] {
  return steps.flatMap((step) => {
    const namespace = isObject(step) ? textOf(step.namespace) : undefined;
    if (!isObject(step) || namespace === undefined) return [];
    const saved = objectOf(step.savedComponent);
    const files = isObject(saved.files) ? saved.files : undefined;
    const key = textOf(saved.key);
    return {
      namespace,
      componentId: textOf(saved.id),
      code: textOf(saved.code) ?? "",
      componentKey: key,
      version: textOf(saved.version),
      defs: propsOf(saved.configurableProps),
      sealed: listOf(step.sealed_props).map(String),
      others: Object.fromEntries(
        Object.entries(objectOf(files?.others)).flatMap(([path, text]) =>
          typeof text === "string" ? [[path, text]] : [],
        ),
      ),
      entry: textOf(files?.entry),
      // The code of an action of others, published or of a registry, is not the workflow's to change.
      isAction: saved.published === true || (files === undefined && key !== undefined),
    };
  });
}

/** Content of a record, or what is made to look like one. */
export type Content = { readonly triggers: readonly unknown[]; readonly steps: readonly unknown[] };

export function draftOf(workflow: Content): Draft {
  const saved = savedStepsOf(workflow.steps);
  return {
    triggers: workflow.triggers.flatMap(triggerOf),
    steps: workflow.steps.flatMap((step): StepDraft[] => {
      const known = isObject(step)
        ? saved.find(({ namespace }) => namespace === step.namespace)
        : undefined;
      if (!isObject(step) || known === undefined) return [];
      return [
        {
          key: textOf(step.id) ?? known.namespace,
          namespace: known.namespace,
          savedAs: known.namespace,
          runs: known.isAction
            ? { kind: "action", component: known.componentKey ?? known.componentId ?? "" }
            : { kind: "code", code: known.code, ...filesOf(known) },
          props: parsed(textOf(step.configured_props_json)),
          ...(known.sealed.length === 0
            ? {}
            : { sealed: { of: known.namespace, names: known.sealed } }),
          disabled: step.disabled === true,
          ...noteOf(step.note),
        },
      ];
    }),
  };
}

export function filesOf({ namespace, entry, others }: SavedStep): { files?: CodeFiles } {
  const isOne = Object.keys(others).length === 0;
  const isPlain = entry === undefined || (isOne && entry === `${namespace}.mjs`);
  return isPlain ? {} : { files: { entry, others } };
}

/** What a step runs, without the name of the file that it begins in. */
export function programOf({ runs }: Pick<StepDraft, "runs">): unknown {
  return runs.kind === "code" ? [runs.code, runs.files?.others ?? {}] : runs.component;
}

/** An empty note is none. */
export function noteOf(given: unknown): { note?: string } {
  const note = textOf(given) ?? "";
  return note === "" ? {} : { note };
}

function parsed(text: string | undefined): JsonObject {
  try {
    return text === undefined ? {} : objectOf(JSON.parse(text));
  } catch {
    return {};
  }
}

function authOf(given: unknown): JsonObject {
  const { type, header } = objectOf(given);
  return { type: textOf(type) ?? "none", ...(typeof header === "string" ? { header } : {}) };
}

function triggerOf(given: unknown): TriggerDraft[] {
  if (!isObject(given)) return [];
  switch (given.type) {
    case "http":
      return [
        {
          kind: "http",
          id: textOf(given.id),
          auth: authOf(given.auth),
        },
      ];
    case "timer":
      return [
        {
          kind: "timer",
          id: textOf(given.id),
          seconds: numberOf(given.interval_seconds),
          cron: textOf(given.cron),
          zone: textOf(given.timezone) ?? "UTC",
        },
      ];
    case "source":
      return [
        {
          kind: "source",
          id: textOf(given.id) ?? "",
          eventName: textOf(given.event_name) ?? "",
        },
      ];
    default:
      return [];
  }
}

/** Content of a version as one text: two with the same text do the same. */
export function contentOf(version: { triggers?: unknown; steps: readonly unknown[] }): string {
  const { triggers, steps } = draftOf({
    triggers: listOf(version.triggers).filter(isObject),
    steps: version.steps.filter(isObject),
  });
  const saved = savedStepsOf(version.steps);
  return stable({
    triggers,
    steps: steps.map((step, at) => ({
      namespace: step.namespace,
      component: saved[at]?.componentId,
      props: step.props,
      sealed: saved[at]?.sealed,
      disabled: step.disabled,
      ...noteOf(step.note),
    })),
  });
}

/** Whether a record holds what a draft says, secrets as far as they can be seen. */
export function isSavedAs(draft: Draft, record: Content): boolean {
  const saved = savedStepsOf(record.steps);
  const theirs = draftOf(record);
  const plain = ({ triggers, steps }: Draft) =>
    stable({
      triggers: triggers.map((trigger) =>
        trigger.kind === "http" ? { kind: trigger.kind, auth: authOf(trigger.auth) } : trigger,
      ),
      steps: steps.map(({ namespace, runs, props, secrets = [], disabled, note }, at) => {
        const program = programOf({ runs });
        const open = Object.entries(props).filter(
          ([name]) => !(secrets.includes(name) || saved[at]?.sealed.includes(name)),
        );
        return { namespace, program, props: Object.fromEntries(open), disabled, ...noteOf(note) };
      }),
    });
  const sealed = draft.steps.every(({ secrets = [] }, at) =>
    secrets.every((name) => saved[at]?.sealed.includes(name)),
  );
  const valid = draft.steps.every(({ invalid }) => invalid === undefined);
  return sealed && valid && plain(draft) === plain(theirs);
}

/** A trigger in words, for cards and lists. */
export function triggerWords(
  trigger: TriggerDraft,
  nameOf: (id: string) => string | undefined = () => undefined,
): string {
  switch (trigger.kind) {
    case "http":
      return "on requests";
    case "timer":
      if (trigger.cron !== undefined) return `cron ${trigger.cron}, ${trigger.zone}`;
      return trigger.seconds === undefined ? "by a timer" : every(trigger.seconds);
    case "source": {
      const channel = trigger.eventName === "" ? "" : `, ${trigger.eventName}`;
      return `on events of ${nameOf(trigger.id) ?? trigger.id}${channel}`;
    }
  }
}

export function startsOf(
  triggers: readonly unknown[],
  nameOf?: (id: string) => string | undefined,
): Start[] {
  return triggers
    .flatMap(triggerOf)
    .map((trigger) =>
      trigger.kind === "timer" && trigger.cron !== undefined
        ? { cron: trigger.cron, zone: trigger.zone }
        : triggerWords(trigger, nameOf),
    );
}

/** Moves one item by one place. */
export function moved<T>(items: readonly T[], at: number, by: -1 | 1): T[] {
  const to = at + by;
  const next = [...items];
  const [item] = next.splice(at, 1);
  if (item === undefined || to < 0 || to > next.length) return [...items];
  next.splice(to, 0, item);
  return next;
}

/** Step or trigger that a refusal of the server is about, and the line of its code. */
export function refusedPlace(
  details: JsonObject,
  message: string,
  draft: Draft,
): { step?: string; trigger?: number; line?: number } {
  const line = /:(\d+):\d+ ?\]/.exec(message)?.[1] ?? /\.(?:mjs|js|ts):(\d+)/.exec(message)?.[1];
  const named = textOf(details.step);
  const field = textOf(details.field) ?? "";
  const at = /^steps\[(\d+)\]/.exec(field)?.[1];
  const trigger = /^triggers\[(\d+)\]/.exec(field)?.[1];
  const step =
    draft.steps.find(({ namespace }) => namespace === named) ??
    (at === undefined ? undefined : draft.steps[Number(at)]);
  return {
    ...(step === undefined ? {} : { step: step.key }),
    ...(trigger === undefined ? {} : { trigger: Number(trigger) }),
    ...(line === undefined || step === undefined ? {} : { line: Number(line) }),
  };
}

export const FIRST_CODE = `export default defineComponent({
  async run({ steps, $ }) {
    return steps.trigger.event;
  },
});
`;
