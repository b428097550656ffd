/** How two versions of a source differ, beside their code. Pure. */

import { isObject, textOf } from "~/api/json";
import type { PropDef } from "~/api/props";
import type { SourceDeployment } from "~/api/schema";
import { type Change, changesOf, SECRET } from "~/ui/changes";

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
export function formChanges(
  source: Pick<SourceDeployment, "configured_props" | "sealed_props">,
  form: { props: readonly Pick<PropDef, "name" | "secret">[]; values: Named },
): Change[] {
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
  return changesOf(before, after);
}

type Named = Readonly<Record<string, unknown>>;

/** Props as they are compared: what the server makes, such as an address, is nobody's change. */
function shownProps(props: Named): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(props).flatMap(([name, value]) =>
      isObject(value) && textOf(value.endpoint_url) !== undefined
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
