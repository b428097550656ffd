import { createFileRoute } from "@tanstack/react-router";
import { ErrorList } from "~/features/errors/error-list";
import { groupsQuery, isShown, type Shown } from "~/features/errors/queries";
import { RunErrorPeek } from "~/features/runs/run-error-peek";

type Search = { q?: string; group?: string; show?: Shown };

export const Route = createFileRoute("/_app/errors/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
    ...(typeof given.group === "string" ? { group: given.group } : {}),
    ...(isShown(given.show) && given.show !== "open" ? { show: given.show } : {}),
  }),
  loaderDeps: ({ search }) => ({ show: search.show }),
  loader: ({ context: { queryClient }, deps: { show } }) => {
    void queryClient.prefetchInfiniteQuery(groupsQuery(show ?? "open"));
  },
  component: Errors,
});

function Errors() {
  const { q, group, show } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ErrorList
      q={q ?? ""}
      chosen={group}
      state={show ?? "open"}
      onShow={(next) =>
        void navigate({
          search: {
            ...(next.q === undefined || next.q === "" ? {} : { q: next.q }),
            ...(next.group === undefined ? {} : { group: next.group }),
            ...((next.state ?? show) === undefined ? {} : { show: next.state ?? show }),
          },
          replace: true,
          resetScroll: false,
        })
      }
      renderRun={(id) => <RunErrorPeek key={id} id={id} />}
    />
  );
}
