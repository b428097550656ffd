import { createFileRoute } from "@tanstack/react-router";
import { WorkflowList, type WorkflowState } from "~/features/workflows/list";
import { workflowsQuery } from "~/features/workflows/queries";

type Search = { q?: string; state?: WorkflowState; tag?: string };

export const Route = createFileRoute("/_app/workflows/")({
  validateSearch: (given: Record<string, unknown>): Search => ({
    ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
    ...(given.state === "active" || given.state === "inactive" ? { state: given.state } : {}),
    ...(typeof given.tag === "string" && given.tag !== "" ? { tag: given.tag } : {}),
  }),
  loaderDeps: ({ search: { tag } }) => ({ tag }),
  loader: ({ context: { queryClient }, deps: { tag } }) => {
    void queryClient.prefetchInfiniteQuery(workflowsQuery(tag));
  },
  component: Workflows,
});

function Workflows() {
  const { q, state, tag } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <WorkflowList
      q={q ?? ""}
      state={state}
      tag={tag}
      onFilter={(next) =>
        void navigate({
          search: {
            ...(next.q === "" ? {} : { q: next.q }),
            ...(next.state === undefined ? {} : { state: next.state }),
            ...(next.tag === undefined ? {} : { tag: next.tag }),
          },
          replace: true,
        })
      }
    />
  );
}
