/** State of a delivery, and the button that sends it again. */

import { useMutation, useQueryClient } from "@tanstack/react-query";
import { RotateCcw } from "lucide-react";
import { client, data } from "~/api/client";
import { sentence } from "~/api/errors";
import type { WebhookDelivery } from "~/api/schema";
import { useRefusal } from "~/shell/session";
import { Button } from "~/ui/button";
import { Glyph } from "~/ui/status";
import { say } from "~/ui/toast";
import type { DeliveryStatus } from "./queries";

export const stateWord: Record<DeliveryStatus, string> = {
  queued: "Waiting",
  delivered: "Delivered",
  failed: "Dead letter",
};

const shapes = { queued: "queued", delivered: "succeeded", failed: "failed" } as const;

export function DeliveryState({ status }: { status: DeliveryStatus }) {
  return (
    <span className={status === "failed" ? "status is-failed" : "status"}>
      <Glyph status={shapes[status]} />
      {stateWord[status]}
    </span>
  );
}

/** Summary of the event that is sent, or its id. */
export function eventName({ body: { id, metadata } }: Pick<WebhookDelivery, "body">): string {
  return typeof metadata.summary === "string" ? metadata.summary : id;
}

export function SendAgain({
  webhook,
  delivery,
  small = false,
}: {
  webhook: string;
  delivery: string;
  small?: boolean;
}) {
  const queries = useQueryClient();
  const refused = useRefusal("invoke");
  const again = useMutation({
    mutationFn: () =>
      data(
        client.POST("/v1/webhooks/{id}/deliveries/{delivery}/replay", {
          params: { path: { id: webhook, delivery } },
        }),
      ),
    onSuccess: () => {
      say({ title: "Sent again", shape: "running" });
      void queries.invalidateQueries({ queryKey: ["webhook", webhook] });
    },
    onError: (error) => say({ title: "The delivery was not sent", about: sentence(error) }),
  });
  return (
    <Button
      {...(small ? { size: "sm" as const } : { icon: RotateCcw })}
      refused={refused}
      busy={again.isPending && "Sending…"}
      onClick={() => again.mutate()}
    >
      Send again
    </Button>
  );
}
