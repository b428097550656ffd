import { createFileRoute } from "@tanstack/react-router";
import { ListenersPage } from "~/features/listeners/listeners-page";

export const Route = createFileRoute("/_app/listeners")({ component: ListenersPage });
