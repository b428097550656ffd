import { createFileRoute } from "@tanstack/react-router";
import { ErrorList } from "~/features/errors/error-list";
import { groupsQuery } from "~/features/errors/queries";
import { RunErrorPeek } from "~/features/runs/run-error-peek";

type Search = { q?: string; group?: string };

export const Route = createFileRoute("/_app/errors/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
    ...(typeof given.group === "string" ? { group: given.group } : {}),
  }),
  loader: ({ context: { queryClient } }) => {
    void queryClient.prefetchInfiniteQuery(groupsQuery);
  },
  component: Errors,
});

function Errors() {
  const { q, group } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ErrorList
      q={q ?? ""}
      chosen={group}
      onShow={(next) =>
        void navigate({
          search: {
            ...(next.q === undefined || next.q === "" ? {} : { q: next.q }),
            ...(next.group === undefined ? {} : { group: next.group }),
          },
          replace: true,
          resetScroll: false,
        })
      }
      renderRun={(id) => <RunErrorPeek key={id} id={id} />}
    />
  );
}
