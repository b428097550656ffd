import { createFileRoute } from "@tanstack/react-router";
import { VersionList } from "~/features/workflows/versions";

export const Route = createFileRoute("/_app/workflows/$id/versions")({ component: VersionList });
