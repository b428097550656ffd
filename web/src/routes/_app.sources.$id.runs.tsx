import { createFileRoute } from "@tanstack/react-router";
import { OwnerRuns } from "~/features/runs/owner-runs";
import { listOfSearch, ownerSearchOf, searchOf } from "~/features/runs/run-filter";

export const Route = createFileRoute("/_app/sources/$id/runs")({
  validateSearch: ownerSearchOf,
  component: Runs,
});

function Runs() {
  const { id } = Route.useParams();
  const list = listOfSearch(Route.useSearch());
  const navigate = Route.useNavigate();
  return (
    <OwnerRuns
      owner={id}
      isWorkflow={false}
      listed={{
        ...list,
        onShow: (next) => void navigate({ search: searchOf({ ...list, ...next }), replace: true }),
        onOpen: (search) => void navigate({ search: ownerSearchOf(search), replace: true }),
      }}
    />
  );
}
