/** Sentence about the receivers of an event that was sent by hand. */

import type { PassedOn } from "~/api/schema";
import { plural } from "~/ui/format";

/** Who got an event that was sent by hand, in a sentence. */
export function sentTo({ run_ids, deliveries }: Pick<PassedOn, "run_ids" | "deliveries">): string {
  const parts = [
    ...(run_ids.length > 0 ? [`${plural(run_ids.length, "run")} started`] : []),
    ...(deliveries > 0 ? [`${plural(deliveries, "delivery", "deliveries")} to webhooks`] : []),
  ];
  return parts.length === 0 ? "Emitted. There are no listeners." : `Sent: ${parts.join(", ")}`;
}
