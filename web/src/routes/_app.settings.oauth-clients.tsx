import { createFileRoute } from "@tanstack/react-router";
import { OauthClients } from "~/features/settings/oauth-clients";
import { ForRole } from "~/shell/act-link";

export const Route = createFileRoute("/_app/settings/oauth-clients")({
  component: () => (
    <ForRole needs="full" title="OAuth clients">
      <OauthClients />
    </ForRole>
  ),
});
