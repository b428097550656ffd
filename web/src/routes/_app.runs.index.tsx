import { createFileRoute } from "@tanstack/react-router";
import { AllRuns } from "~/features/runs/all-runs";
import { listOfSearch, type RunSearch, searchOf } from "~/features/runs/run-filter";

const validate = (given: Readonly<Record<string, unknown>>): RunSearch =>
  searchOf(listOfSearch(given));

export const Route = createFileRoute("/_app/runs/")({
  validateSearch: validate,
  component: Runs,
});

function Runs() {
  const list = listOfSearch(Route.useSearch());
  const navigate = Route.useNavigate();
  return (
    <AllRuns
      listed={{
        ...list,
        onShow: (next) => void navigate({ search: searchOf({ ...list, ...next }), replace: true }),
        onOpen: (search) => void navigate({ search: validate(search), replace: true }),
      }}
    />
  );
}
