/** Model of the map: emitters, listeners, activity, and reasons for none. Pure. */

import { isObject, listOf, textOf } from "~/api/json";
import type { AutoSubscription, Source, Subscription, Webhook, Workflow } from "~/api/schema";

export type Kind = "source" | "workflow" | "webhook";

export type Wheel = {
  id: string;
  kind: Kind;
  name: string;
  /** Why it does not turn; `undefined`: it does when something comes. */
  still: string | undefined;
  /** Of a webhook whose circuit is open: when it is tried next, epoch milliseconds. */
  until: number | undefined;
  runs: number;
  failed: number;
};

export type Edge = { from: string; to: string; says: string };

export type MillMap = {
  columns: Record<Kind, Wheel[]>;
  edges: Edge[];
  /** From when on runs are counted, epoch milliseconds, where the hour had more than the server counts. */
  countedFrom: number | undefined;
};

export type Parts = {
  sources: readonly Pick<Source, "id" | "name" | "active" | "inactive_reason" | "stats">[];
  workflows: readonly (Pick<Workflow, "id" | "name" | "active" | "deployment_id" | "stats"> & {
    /** Those of its deployed version. */
    triggers: readonly unknown[];
  })[];
  webhooks: readonly Pick<
    Webhook,
    "id" | "name" | "url" | "active" | "failures" | "paused_until"
  >[];
  subscriptions: readonly Subscription[];
  always: readonly Pick<AutoSubscription, "listener_id" | "event_name">[];
};

/** `most`: how many of each kind are shown, what is joined to something first. */
export function mapOf(parts: Parts, most = Number.POSITIVE_INFINITY): MillMap {
  const wheels: Wheel[] = [
    ...parts.sources.map((source) =>
      wheel(source.id, "source", source.name, stillSource(source), source.stats),
    ),
    ...parts.workflows.map((workflow) =>
      wheel(workflow.id, "workflow", workflow.name, stillWorkflow(workflow), workflow.stats),
    ),
    ...parts.webhooks.map((webhook) => ({
      ...wheel(
        webhook.id,
        "webhook",
        webhook.name ?? webhook.url,
        stillWebhook(webhook),
        undefined,
      ),
      until: webhook.paused_until === null ? undefined : webhook.paused_until * 1_000,
    })),
  ];
  const joins = edgesOf(parts);
  const known = new Set(wheels.map(({ id }) => id));
  const among = (ids: ReadonlySet<string>) =>
    joins.filter(({ from, to }) => ids.has(from) && ids.has(to));
  const joined = new Set(among(known).flatMap(({ from, to }) => [from, to]));
  const first = [true, false].flatMap((is) => wheels.filter(({ id }) => joined.has(id) === is));
  const of = (kind: Kind) => first.filter((each) => each.kind === kind).slice(0, most);
  const shown = [...of("source"), ...of("workflow"), ...of("webhook")];
  const edges = among(new Set(shown.map(({ id }) => id)));
  const workflows = of("workflow").sort(byName);
  const from = [...parts.sources, ...parts.workflows].flatMap(
    ({ stats }) => stats?.looked_at_from_ms ?? [],
  );
  return {
    edges,
    countedFrom: from.length === 0 ? undefined : Math.max(...from),
    columns: {
      source: nearTo(of("source"), workflows, edges),
      workflow: workflows,
      webhook: nearTo(of("webhook"), workflows, edges),
    },
  };
}

const NO_RUNS = { succeeded: 0, failed: 0, cancelled: 0 };

function wheel(
  id: string,
  kind: Kind,
  name: string,
  still: string | undefined,
  stats: Source["stats"],
): Wheel {
  const { succeeded, failed, cancelled } = stats?.total ?? NO_RUNS;
  return {
    id,
    kind,
    name,
    still,
    until: undefined,
    runs: succeeded + failed + cancelled,
    failed,
  };
}

function stillSource({ active, inactive_reason }: Parts["sources"][number]): string | undefined {
  return active ? undefined : (inactive_reason ?? "switched off");
}

function stillWorkflow({ active, deployment_id }: Parts["workflows"][number]): string | undefined {
  if (deployment_id === null) return "not deployed";
  return active ? undefined : "switched off";
}

function stillWebhook({ active, failures, paused_until }: Parts["webhooks"][number]) {
  if (!active) return "switched off";
  return paused_until === null ? undefined : `${failures} failures in a row, circuit open`;
}

function edgesOf({ workflows, subscriptions, always, sources }: Parts): Edge[] {
  const found = new Map<string, Edge>();
  const add = (from: string, to: string, says: string) => {
    found.set(`${from} ${to} ${says}`, { from, to, says });
  };
  for (const { id, triggers } of workflows) {
    for (const trigger of listOf(triggers)) {
      if (!isObject(trigger) || trigger.type !== "source") continue;
      add(textOf(trigger.id) ?? "", id, channel(textOf(trigger.event_name)));
    }
  }
  for (const { emitter_id, listener_id, event_name } of subscriptions) {
    add(emitter_id, listener_id, channel(event_name));
  }
  for (const { listener_id, event_name } of always) {
    for (const { id } of [...sources, ...workflows]) {
      if (id !== listener_id) add(id, listener_id, channel(event_name));
    }
  }
  return [...found.values()];
}

function channel(name: string | undefined): string {
  if (name === undefined || name === "") return "events";
  return name === "$errors" ? "errors" : name;
}

function byName(one: Wheel, other: Wheel): number {
  return one.name.localeCompare(other.name);
}

/** Beside the middle of what it is joined with: fewer lines cross. */
function nearTo(wheels: Wheel[], others: readonly Wheel[], edges: readonly Edge[]): Wheel[] {
  const place = new Map(others.map(({ id }, at) => [id, at]));
  const middle = (id: string): number => {
    const joined = edges.flatMap(({ from, to }) => {
      const other = from === id ? to : to === id ? from : "";
      return place.get(other) ?? [];
    });
    if (joined.length === 0) return Number.POSITIVE_INFINITY;
    return joined.reduce((sum, at) => sum + at, 0) / joined.length;
  };
  const middles = new Map(wheels.map(({ id }) => [id, middle(id)]));
  return wheels.sort((one, other) => {
    const [a, b] = [middles.get(one.id) ?? 0, middles.get(other.id) ?? 0];
    return a === b ? byName(one, other) : a - b;
  });
}
