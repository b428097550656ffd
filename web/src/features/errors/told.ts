/** Subscriptions that receive the errors of an owner. Pure. */

import type { Owner } from "~/api/queries";
import type { Subscription } from "~/api/schema";

/** Listeners to the owner itself, to all of its kind, and to the organization; each listener once, the nearest first. */
export function listenersOf(
  subscriptions: readonly Subscription[],
  { id, isWorkflow }: Pick<Owner, "id" | "isWorkflow">,
  org: string,
): Subscription[] {
  const emitters = [id, isWorkflow ? "p_*" : "dc_*", org];
  const seen = new Set<string>();
  return emitters
    .flatMap((emitter) =>
      subscriptions.filter(
        ({ emitter_id, event_name }) => emitter_id === emitter && event_name === "$errors",
      ),
    )
    .filter(({ listener_id }) => !seen.has(listener_id) && seen.add(listener_id));
}

/** Ids of those that listen to the errors of the organization, of all workflows or of all sources. */
export function listenersOfAll(subscriptions: readonly Subscription[], org: string): string[] {
  const all = subscriptions.filter(
    ({ emitter_id, event_name }) =>
      event_name === "$errors" && [org, "p_*", "dc_*"].includes(emitter_id),
  );
  return [...new Set(all.map(({ listener_id }) => listener_id))];
}
