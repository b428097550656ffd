import { createFileRoute } from "@tanstack/react-router";
import { OwnerRuns } from "~/features/runs/owner-runs";
import { listOfSearch, type RunSearch, searchOf } from "~/features/runs/run-filter";

type Asked = Omit<RunSearch, "owner">;

/** The list is of one: no address makes it a list of another one. */
function validate(given: Readonly<Record<string, unknown>>): Asked {
  const { owner: _, ...asked } = searchOf(listOfSearch(given));
  return asked;
}

export const Route = createFileRoute("/_app/sources/$id/runs")({
  validateSearch: validate,
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
        onOpen: (search) => void navigate({ search: validate(search), replace: true }),
      }}
    />
  );
}
