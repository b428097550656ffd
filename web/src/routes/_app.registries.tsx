import { createFileRoute } from "@tanstack/react-router";
import { RegistriesPage } from "~/features/components/registries-page";

export const Route = createFileRoute("/_app/registries")({ component: RegistriesPage });
