import { createFileRoute } from "@tanstack/react-router";
import { Domains } from "~/features/settings/domains";

export const Route = createFileRoute("/_app/settings/domains")({ component: Domains });
