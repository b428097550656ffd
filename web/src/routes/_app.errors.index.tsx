import { createFileRoute } from "@tanstack/react-router";
import { ErrorList } from "~/features/errors/error-list";
import { groupsQuery, isShown, type Shown } from "~/features/errors/queries";
import { RunErrorPeek } from "~/features/runs/run-error-peek";

type Search = { q?: string; owner?: string; group?: string; show?: Shown };

export const Route = createFileRoute("/_app/errors/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
    ...(typeof given.owner === "string" && given.owner !== "" ? { owner: given.owner } : {}),
    ...(typeof given.group === "string" ? { group: given.group } : {}),
    ...(isShown(given.show) && given.show !== "open" ? { show: given.show } : {}),
  }),
  loaderDeps: ({ search }) => ({ show: search.show, owner: search.owner }),
  loader: ({ context: { queryClient }, deps: { show, owner } }) => {
    void queryClient.prefetchInfiniteQuery(groupsQuery(show ?? "open", owner));
  },
  component: Errors,
});

function Errors() {
  const { q, owner, group, show } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ErrorList
      q={q ?? ""}
      of={owner}
      chosen={group}
      state={show ?? "open"}
      onShow={(next) =>
        void navigate({
          search: {
            ...(next.q === undefined || next.q === "" ? {} : { q: next.q }),
            ...(owner === undefined || next.everybody === true ? {} : { owner }),
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
