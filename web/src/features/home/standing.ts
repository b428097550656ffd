/**
 * Sources, workflows, accounts and webhooks that do not work: switched off, refused by a provider,
 * or without an answer of the receiver. Pure.
 */

import type { Account, Source, Webhook, Workflow } from "~/api/schema";

export type Still = {
  id: string;
  name: string;
  kind: "source" | "workflow" | "account" | "webhook";
  /** Why, as the server says it. */
  why: string | undefined;
  /** Of accounts: the app to connect again. */
  app?: string;
  /** Of webhooks: when it is tried again, epoch milliseconds. */
  until?: number;
  failures?: number;
  /** Switched off on purpose needs nobody; the rest does. */
  isFault: boolean;
};

type Parts = {
  sources: readonly Pick<Source, "id" | "name" | "active" | "inactive_reason">[];
  workflows: readonly Pick<Workflow, "id" | "name" | "active" | "deployment_id">[];
  accounts: readonly Pick<Account, "id" | "name" | "app" | "healthy" | "problem">[];
  webhooks: readonly Pick<
    Webhook,
    "id" | "name" | "url" | "active" | "failures" | "paused_until"
  >[];
};

/** What the server says of a source that a person switched off. */
const ON_PURPOSE = "it was made inactive";
/** The same of a source that was never active since it was deployed. */
const NOT_BEGUN = "it was deployed inactive";

export function standingStill({ sources, workflows, accounts, webhooks }: Parts): Still[] {
  const still: Still[] = [];
  for (const { id, name, app, healthy, problem } of accounts) {
    if (healthy) continue;
    still.push({
      id,
      name,
      kind: "account",
      why: problem ?? undefined,
      app: app.name_slug,
      isFault: true,
    });
  }
  for (const { id, name, url, active, failures, paused_until } of webhooks) {
    if (active && paused_until === null) continue;
    still.push({
      id,
      name: name ?? url,
      kind: "webhook",
      why: undefined,
      failures,
      ...(paused_until === null ? {} : { until: paused_until * 1_000 }),
      isFault: true,
    });
  }
  for (const { id, name, active, inactive_reason } of sources) {
    if (active || inactive_reason === NOT_BEGUN) continue;
    const why =
      inactive_reason === null || inactive_reason === ON_PURPOSE ? undefined : inactive_reason;
    still.push({ id, name, kind: "source", why, isFault: why !== undefined });
  }
  for (const { id, name, active, deployment_id } of workflows) {
    // What was never deployed is a draft: it is not meant to turn.
    if (active || deployment_id === null) continue;
    still.push({ id, name, kind: "workflow", why: undefined, isFault: false });
  }
  // What needs somebody comes first; within that, accounts hold up the most.
  return still.sort((one, other) => Number(other.isFault) - Number(one.isFault));
}
