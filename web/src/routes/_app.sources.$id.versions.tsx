import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { sourceQuery } from "~/features/sources/queries";
import { SourceVersions } from "~/features/sources/versions";
import { compared } from "~/shell/versions-search";

export const Route = createFileRoute("/_app/sources/$id/versions")({
  validateSearch: compared,
  component: Versions,
});

function Versions() {
  const { id } = Route.useParams();
  const { compare } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: source } = useSuspenseQuery(sourceQuery(id));
  return (
    <SourceVersions
      source={source}
      compared={compare}
      onCompare={(next) =>
        void navigate({ search: next === undefined ? {} : { compare: next }, replace: true })
      }
    />
  );
}
