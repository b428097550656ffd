import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { sourceQuery } from "~/features/sources/queries";
import { SourceVersions } from "~/features/sources/versions";

export const Route = createFileRoute("/_app/sources/$id/versions")({ component: Versions });

function Versions() {
  const { id } = Route.useParams();
  const { data: source } = useSuspenseQuery(sourceQuery(id));
  return <SourceVersions source={source} />;
}
