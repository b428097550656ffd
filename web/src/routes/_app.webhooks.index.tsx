import { createFileRoute } from "@tanstack/react-router";
import { WebhooksPage } from "~/features/listeners/webhooks-page";

export const Route = createFileRoute("/_app/webhooks/")({ component: WebhooksPage });
