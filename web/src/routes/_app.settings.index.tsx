import { createFileRoute } from "@tanstack/react-router";
import { Organization } from "~/features/settings/organization";

export const Route = createFileRoute("/_app/settings/")({ component: Organization });
