import { createFileRoute } from "@tanstack/react-router";
import { WorkflowSettings } from "~/features/workflows/settings";

export const Route = createFileRoute("/_app/workflows/$id/settings")({
  component: WorkflowSettings,
});
