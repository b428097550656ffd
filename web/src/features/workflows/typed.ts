/** A workflow as it is typed in the builder, in the shape of its record. Pure. */

import { isObject, listOf } from "~/api/json";
import type { Workflow } from "~/api/schema";
import type { CodeFiles, Content, Draft, TriggerDraft } from "./model";

function typedTrigger(trigger: TriggerDraft): Record<string, unknown> {
  switch (trigger.kind) {
    case "http":
      return { type: "http", id: trigger.id, auth: trigger.auth };
    case "timer":
      return {
        type: "timer",
        id: trigger.id,
        cron: trigger.cron,
        interval_seconds: trigger.seconds,
        timezone: trigger.zone,
      };
    case "source":
      return { type: "source", id: trigger.id, event_name: trigger.eventName };
  }
}

/** The record with what is typed in the place of what is saved, for the difference alone. */
export function typed(
  base: Workflow,
  draft: Draft,
  saved: Draft,
): Content & Pick<Workflow, "settings"> {
  if (draft === saved) return base;
  const was = new Map(saved.steps.map((step) => [step.key, step.namespace]));
  return {
    ...base,
    triggers: draft.triggers.map(typedTrigger),
    steps: draft.steps.map((step) => {
      const before = base.steps.find(
        (each) => isObject(each) && each.namespace === was.get(step.key),
      );
      const saved =
        isObject(before) && isObject(before.savedComponent) ? before.savedComponent : {};
      const { secrets = [] } = step;
      const sealed = isObject(before) ? listOf(before.sealed_props).map(String) : [];
      const open = Object.entries(step.props).filter(([name]) => !secrets.includes(name));
      return {
        ...(isObject(before) ? before : {}),
        namespace: step.namespace,
        disabled: step.disabled,
        // A secret that is typed is shown as one that is stored: not at all.
        configured_props_json: JSON.stringify(Object.fromEntries(open)),
        sealed_props: [...new Set([...sealed, ...secrets])],
        savedComponent:
          step.runs.kind === "code"
            ? { ...saved, code: step.runs.code, ...filesIn(step.runs) }
            : { ...saved, key: step.runs.component, published: true },
      };
    }),
  };
}

/** Files that the builder knows; others are as they are saved. */
const filesIn = ({ files }: { files?: CodeFiles }) => (files === undefined ? {} : { files });
