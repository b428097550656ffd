import { createFileRoute } from "@tanstack/react-router";
import { Audit } from "~/features/settings/audit";
import { ForRole } from "~/shell/act-link";

export const Route = createFileRoute("/_app/settings/audit")({
  component: () => (
    <ForRole needs="full" title="Audit">
      <Audit />
    </ForRole>
  ),
});
