import { createFileRoute } from "@tanstack/react-router";
import { OauthClients } from "~/features/settings/oauth-clients";

export const Route = createFileRoute("/_app/settings/oauth-clients")({ component: OauthClients });
