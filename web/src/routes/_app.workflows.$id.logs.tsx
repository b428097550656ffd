import { createFileRoute } from "@tanstack/react-router";
import { WorkflowLog } from "~/features/workflows/log";

export const Route = createFileRoute("/_app/workflows/$id/logs")({ component: WorkflowLog });
