import { createFileRoute } from "@tanstack/react-router";
import { AllRuns } from "~/features/runs/all-runs";
import { filterOf, type RunFilter } from "~/features/runs/run-filter";
import { isRunView, type RunView } from "~/features/runs/views";

type Asked = { view?: RunView; q?: string } & Omit<RunFilter, "status"> & { status?: string };

const validate = (given: Readonly<Record<string, unknown>>): Asked => ({
  ...(typeof given.view === "string" && isRunView(given.view) && given.view !== "all"
    ? { view: given.view }
    : {}),
  ...(given.q === undefined || given.q === "" ? {} : { q: String(given.q) }),
  ...written(filterOf(given)),
});

export const Route = createFileRoute("/_app/runs/")({
  validateSearch: validate,
  component: Runs,
});

/** As the address has it. */
function written({ status, ...others }: RunFilter): Asked {
  return { ...others, ...(status === undefined ? {} : { status: status.join(",") }) };
}

function Runs() {
  const asked = Route.useSearch();
  const { view = "all", q = "" } = asked;
  const filter = filterOf(asked);
  const navigate = Route.useNavigate();
  const show = (next: { view?: RunView; q?: string; filter?: RunFilter }) => {
    const now = { view, q, filter, ...next };
    void navigate({
      search: {
        ...(now.view === "all" ? {} : { view: now.view }),
        ...(now.q === "" ? {} : { q: now.q }),
        ...written(now.filter),
      },
      replace: true,
    });
  };
  return (
    <AllRuns
      view={view}
      onView={(next) => show({ view: next })}
      filter={filter}
      onFilter={(next) => show({ filter: next })}
      q={q}
      onSearch={(next) => show({ q: next })}
      search={asked}
      onOpen={(search) => void navigate({ search: validate(search), replace: true })}
    />
  );
}
