/** Queries of webhooks, their deliveries, and automatic subscriptions. */

import { queryOptions } from "@tanstack/react-query";
import { body, client, data, exactBody, exactData } from "~/api/client";
import { type Page, pagesOf, subscriptionsQuery } from "~/api/queries";
import type { WebhookDelivery, WebhookDeliveryDetail } from "~/api/schema";

export const webhooksQuery = pagesOf(["webhooks"], (query, signal) =>
  body(client.GET("/v1/webhooks", { params: { query }, signal })),
);

export const webhookQuery = (id: string) =>
  queryOptions({
    queryKey: ["webhook", id],
    queryFn: ({ signal }) =>
      data(client.GET("/v1/webhooks/{id}", { params: { path: { id } }, signal })),
    refetchInterval: 5_000,
  });

export type DeliveryStatus = "queued" | "delivered" | "failed";

export const deliveriesQuery = (id: string, status: DeliveryStatus | undefined) =>
  pagesOf(
    ["webhook", id, "deliveries", status],
    (query, signal) =>
      exactBody<Page<WebhookDelivery>>(
        client.GET("/v1/webhooks/{id}/deliveries", {
          parseAs: "text",
          params: {
            path: { id },
            query: { ...query, ...(status === undefined ? {} : { status }) },
          },
          signal,
        }),
      ),
    50,
  );

/** As long as the server hides a delivery that it is sending: its next attempt is within this time. */
const SENDING_MS = 30_000;

/** How soon a delivery is read again: while it waits, and more often where an attempt is near. */
function askAgainMs(delivery: WebhookDeliveryDetail | undefined): number | false {
  if (delivery?.status !== "queued") return false;
  return (delivery.next_attempt_at_ms ?? 0) - Date.now() < SENDING_MS ? 2_000 : 10_000;
}

/** A delivery with its headers and attempts. */
export const deliveryQuery = (webhook: string, delivery: string) =>
  queryOptions({
    queryKey: ["webhook", webhook, "delivery", delivery],
    queryFn: ({ signal }) =>
      exactData<WebhookDeliveryDetail>(
        client.GET("/v1/webhooks/{id}/deliveries/{delivery}", {
          parseAs: "text",
          params: { path: { id: webhook, delivery } },
          signal,
        }),
      ),
    refetchInterval: ({ state }) => askAgainMs(state.data),
  });

export const autoSubscriptionsQuery = pagesOf(["auto-subscriptions"], (query, signal) =>
  body(client.GET("/v1/auto_subscriptions", { params: { query }, signal })),
);

/** The newest subscriptions of a listener, with the names of their emitters, and how many there are. */
export const newestOfListenerQuery = (org: string, listener: string, limit: number) =>
  queryOptions({
    queryKey: [...subscriptionsQuery(org).queryKey, "of", listener, limit],
    queryFn: ({ signal }) =>
      body(
        client.GET("/v1/orgs/{org}/subscriptions", {
          params: { path: { org }, query: { listener_id: listener, limit } },
          signal,
        }),
      ),
  });
