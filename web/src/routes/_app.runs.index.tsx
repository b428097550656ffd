import { createFileRoute } from "@tanstack/react-router";
import { AllRuns } from "~/features/runs/all-runs";
import { isRunView, type RunView } from "~/features/runs/views";

type Asked = { view?: RunView; q?: string };

export const Route = createFileRoute("/_app/runs/")({
  validateSearch: (given: Record<string, unknown>): Asked => ({
    ...(typeof given.view === "string" && isRunView(given.view) && given.view !== "all"
      ? { view: given.view }
      : {}),
    ...(given.q === undefined || given.q === "" ? {} : { q: String(given.q) }),
  }),
  component: Runs,
});

function Runs() {
  const { view, q } = Route.useSearch();
  const navigate = Route.useNavigate();
  const show = (next: Asked) => void navigate({ search: next, replace: true });
  return (
    <AllRuns
      view={view ?? "all"}
      q={q ?? ""}
      onView={(next) =>
        show({ ...(next === "all" ? {} : { view: next }), ...(q === undefined ? {} : { q }) })
      }
      onSearch={(next) =>
        show({ ...(view === undefined ? {} : { view }), ...(next === "" ? {} : { q: next }) })
      }
    />
  );
}
