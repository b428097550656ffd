import { createFileRoute } from "@tanstack/react-router";
import { Keys } from "~/features/settings/keys";
import { ForRole } from "~/shell/act-link";

export const Route = createFileRoute("/_app/settings/keys")({
  component: () => (
    <ForRole needs="full" title="API keys">
      <Keys />
    </ForRole>
  ),
});
