import { createFileRoute } from "@tanstack/react-router";
import { System } from "~/features/settings/system";

export const Route = createFileRoute("/_app/settings/system")({ component: System });
