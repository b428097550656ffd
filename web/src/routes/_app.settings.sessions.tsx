import { createFileRoute } from "@tanstack/react-router";
import { Sessions } from "~/features/settings/sessions";

export const Route = createFileRoute("/_app/settings/sessions")({ component: Sessions });
