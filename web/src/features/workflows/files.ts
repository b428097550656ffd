/** A workflow as the files of a project: what `millrace workflows pull` writes, of a draft. Pure, but for the parser of YAML. */

import { isObject, type JsonObject, listOf, objectOf, textOf } from "~/api/json";
import { draftOf, noteOf, savedStepsOf, type TriggerDraft } from "./model";

export type Version = {
  name: string;
  active: boolean;
  triggers: readonly unknown[];
  steps: readonly unknown[];
  settings: JsonObject;
  /** Of the whole; no part of a version. */
  note?: string | null;
  tags?: readonly string[];
};

export type FileChange = { path: string; before: string; after: string };

/** Texts by their path below the workflow's folder. */
export async function filesOf(version: Version): Promise<Record<string, string>> {
  const { stringify } = await import("yaml");
  const files: Record<string, string> = {};
  const { triggers, steps } = draftOf({
    triggers: version.triggers.filter(isObject),
    steps: version.steps.filter(isObject),
  });
  const saved = savedStepsOf(version.steps);
  const names = new Map(
    version.triggers.filter(isObject).flatMap((given) => {
      const [id, slug] = [textOf(given.id), textOf(given.name_slug)];
      return id === undefined || slug === undefined ? [] : [[id, slug] as const];
    }),
  );
  const shown = steps.map((step) => {
    const known = saved.find(({ namespace }) => namespace === step.namespace);
    const rest = {
      ...(Object.keys(step.props).length === 0 ? {} : { props: step.props }),
      ...(step.disabled ? { disabled: true } : {}),
      ...noteOf(step.note),
    };
    if (step.runs.kind === "action") {
      return { namespace: step.namespace, component_key: step.runs.component, ...rest };
    }
    const entry = known?.entry ?? `${step.namespace}.mjs`;
    const texts = { ...known?.others, [entry]: step.runs.code };
    const isOne = Object.keys(texts).length === 1;
    const clash = Object.entries(texts).some(
      ([path, text]) => files[path] !== undefined && files[path] !== text,
    );
    const place = (path: string) =>
      clash ? `${step.namespace}/${path}` : isOne && !path.includes("/") ? `steps/${path}` : path;
    for (const [path, text] of Object.entries(texts)) files[place(path)] = text;
    return { namespace: step.namespace, code_file: place(entry), ...rest };
  });
  const settings = settingsOf(version.settings);
  files["workflow.yaml"] = stringify(
    {
      name: version.name,
      triggers: triggers.map((trigger) => triggerOf(trigger, names)),
      steps: shown,
      ...noteOf(version.note),
      ...(version.tags === undefined || version.tags.length === 0 ? {} : { tags: version.tags }),
      ...(Object.keys(settings).length === 0 ? {} : { settings }),
      ...(version.active ? {} : { active: false }),
    },
    { lineWidth: 0 },
  );
  return files;
}

/** Files that are not the same, `workflow.yaml` first. */
export function changedFiles(
  before: Readonly<Record<string, string>>,
  after: Readonly<Record<string, string>>,
): FileChange[] {
  const paths = [...new Set([...Object.keys(after), ...Object.keys(before)])].sort();
  return paths
    .sort((one, other) => Number(other === "workflow.yaml") - Number(one === "workflow.yaml"))
    .map((path) => ({ path, before: before[path] ?? "", after: after[path] ?? "" }))
    .filter((each) => each.before !== each.after);
}

function triggerOf(trigger: TriggerDraft, names: ReadonlyMap<string, string>): JsonObject {
  switch (trigger.kind) {
    case "http": {
      const { type, header } = trigger.auth;
      if (type === undefined || type === "none") return { type: "http" };
      const auth = { type, ...(typeof header === "string" ? { header } : {}) };
      return { type: "http", props: { auth } };
    }
    case "timer":
      return {
        type: "timer",
        props:
          trigger.cron === undefined
            ? { intervalSeconds: trigger.seconds }
            : {
                cron: trigger.cron,
                ...(trigger.zone === "UTC" ? {} : { timezone: trigger.zone }),
              },
      };
    case "source":
      return {
        type: "source",
        source: names.get(trigger.id) ?? trigger.id,
        ...(trigger.eventName === "" ? {} : { event_name: trigger.eventName }),
      };
  }
}

/** Settings as a workflow has them that says nothing of them. */
const USUAL: JsonObject = {
  auto_deploy: false,
  error_notification: true,
  keep_data: true,
  auto_retry: false,
};

/** Those that somebody set. */
function settingsOf(settings: JsonObject): JsonObject {
  const set = Object.entries(settings).filter(([name, value]) => {
    if (value === null || value === undefined || value === USUAL[name]) return false;
    if (name === "name") return false;
    return !(value === false && USUAL[name] === undefined) && !isEmpty(value);
  });
  return Object.fromEntries(set);
}

function isEmpty(value: unknown): boolean {
  return Array.isArray(value) && listOf(value).length === 0;
}

/** Where a project has the workflow: its folder. */
export function folderOf(madeFrom: unknown): string {
  const path = textOf(objectOf(madeFrom).path) ?? "";
  return path === "" ? "" : `${path.replace(/\/$/, "")}/`;
}
