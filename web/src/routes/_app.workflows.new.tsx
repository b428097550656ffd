import { createFileRoute } from "@tanstack/react-router";
import { NewWorkflow } from "~/features/workflows/new";

export const Route = createFileRoute("/_app/workflows/new")({ component: NewWorkflow });
