import { createFileRoute } from "@tanstack/react-router";
import { Audit } from "~/features/settings/audit";

export const Route = createFileRoute("/_app/settings/audit")({ component: Audit });
