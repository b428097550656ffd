import { createFileRoute } from "@tanstack/react-router";
import { AllRuns, isRunView, type RunView } from "~/features/runs/all-runs";

export const Route = createFileRoute("/_app/runs/")({
  validateSearch: (given: Record<string, unknown>): { view?: RunView } =>
    typeof given.view === "string" && isRunView(given.view) && given.view !== "all"
      ? { view: given.view }
      : {},
  component: Runs,
});

function Runs() {
  const { view } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <AllRuns
      view={view ?? "all"}
      onView={(next) =>
        void navigate({ search: next === "all" ? {} : { view: next }, replace: true })
      }
    />
  );
}
