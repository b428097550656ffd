/** Differences between two versions of a source, beside their code. Pure. */

import { isObject, type JsonObject, textOf } from "~/api/json";
import type { PropDef } from "~/api/props";
import type { SourceDeployment } from "~/api/schema";
import { type Change, changesOf, SECRET, stable } from "~/ui/changes";

type Version = Pick<
  SourceDeployment,
  "configured_props" | "sealed_props" | "calls_per_isolate" | "concurrency"
>;

export function sourceChanges(before: Version, after: Version): Change[] {
  return changesOf(valuesOf(before), valuesOf(after));
}

function valuesOf({ configured_props = {}, sealed_props = [], ...limits }: Version) {
  return {
    ...shownProps(configured_props),
    ...Object.fromEntries(sealed_props.map((name) => [name, SECRET])),
    "runs of a process": limits.calls_per_isolate,
    "runs at once": limits.concurrency,
  };
}

/** What a form would change of the source that it is filled in for. */
export function formChanges(source: Stored, form: Form): Change[] {
  const secrets = form.props.filter(({ secret }) => secret).map(({ name }) => name);
  const typed = secrets.filter((name) => form.values[name] !== undefined);
  const stored = source.sealed_props ?? [];
  const before = shownProps(source.configured_props ?? {});
  const after = shownProps(form.values);
  for (const name of secrets) {
    delete after[name];
    // Whether a secret that is typed differs from the stored one is known to nobody: it replaces it.
    if (stored.includes(name)) before[name] = typed.includes(name) ? "a secret" : undefined;
    if (typed.includes(name)) after[name] = "a new secret";
  }
  // The server gives what is left empty its default.
  const defaults = form.props.filter(({ name, secret }) => !secret && name in before);
  for (const prop of defaults) after[prop.name] ??= shownProps({ value: prop.default }).value;
  return changesOf(before, after);
}

/**
 * Values to save of a form that was filled in over `base`, where `now` is stored meanwhile: those that the form changed,
 * as the server leaves all others as they are; null takes one away. `taken`: what others changed; `clashes`: what they
 * and the form changed to different values.
 */
export function valuesToSave(
  base: Stored,
  now: Stored,
  form: Form,
): { values: JsonObject; taken: JsonObject; clashes: Change[] } {
  const mine = new Map(formChanges(base, form).map((change) => [change.name, change.after]));
  const asked = form.props.filter(({ name }) => mine.has(name));
  const values = Object.fromEntries(asked.map(({ name }) => [name, form.values[name] ?? null]));
  const theirs = changesOf(
    shownProps(base.configured_props ?? {}),
    shownProps(now.configured_props ?? {}),
  );
  const taken: JsonObject = {};
  const clashes: Change[] = [];
  for (const { name, after } of theirs) {
    if (!mine.has(name)) taken[name] = now.configured_props?.[name];
    else if (stable(mine.get(name)) !== stable(after)) {
      clashes.push({ name, before: after, after: mine.get(name) });
    }
  }
  return { values, taken, clashes };
}

export type Stored = Pick<SourceDeployment, "configured_props" | "sealed_props">;

type Form = { props: readonly Pick<PropDef, "name" | "secret" | "default">[]; values: Named };

type Named = Readonly<Record<string, unknown>>;

/** Props as they are compared: what the server makes, such as an address or `{type: "$.service.db"}`, is nobody's change. */
function shownProps(props: Named): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(props).flatMap(([name, value]) =>
      isObject(value) && (textOf(value.endpoint_url) ?? textOf(value.type)?.startsWith("$."))
        ? []
        : [[name, isObject(value) ? timerText(value) : value]],
    ),
  );
}

/** A timer is written in one way by a form and in another by a record. */
function timerText(value: Named): unknown {
  const seconds = value.intervalSeconds ?? value.interval_seconds;
  if (typeof seconds === "number") return `every ${seconds} s`;
  return typeof value.cron === "string"
    ? `cron ${value.cron}, ${textOf(value.timezone) ?? "UTC"}`
    : value;
}
