import { createFileRoute } from "@tanstack/react-router";
import { Keys } from "~/features/settings/keys";

export const Route = createFileRoute("/_app/settings/keys")({ component: Keys });
