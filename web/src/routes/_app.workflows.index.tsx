import { createFileRoute } from "@tanstack/react-router";
import { WorkflowList, type WorkflowState } from "~/features/workflows/list";
import { workflowsQuery } from "~/features/workflows/queries";

type Search = { q?: string; state?: WorkflowState };

export const Route = createFileRoute("/_app/workflows/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
    ...(given.state === "active" || given.state === "inactive" ? { state: given.state } : {}),
  }),
  loader: ({ context: { queryClient } }) => {
    void queryClient.prefetchInfiniteQuery(workflowsQuery);
  },
  component: Workflows,
});

function Workflows() {
  const { q, state } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <WorkflowList
      q={q ?? ""}
      state={state}
      onFilter={(next) =>
        void navigate({
          search: {
            ...(next.q === "" ? {} : { q: next.q }),
            ...(next.state === undefined ? {} : { state: next.state }),
          },
          replace: true,
        })
      }
    />
  );
}
