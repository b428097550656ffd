import { createFileRoute } from "@tanstack/react-router";
import { WorkflowLog } from "~/features/workflows/log";
import { logSearch } from "~/shell/log-search";

export const Route = createFileRoute("/_app/workflows/$id/logs")({
  validateSearch: logSearch,
  component: WorkflowLog,
});
