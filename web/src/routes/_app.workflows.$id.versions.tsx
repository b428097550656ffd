import { createFileRoute } from "@tanstack/react-router";
import { VersionList } from "~/features/workflows/versions";
import { compared } from "~/shell/versions-search";

export const Route = createFileRoute("/_app/workflows/$id/versions")({
  validateSearch: compared,
  component: Versions,
});

function Versions() {
  const { compare } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <VersionList
      compared={compare}
      onCompare={(id) =>
        void navigate({ search: id === undefined ? {} : { compare: id }, replace: true })
      }
    />
  );
}
