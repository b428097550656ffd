import { createFileRoute, Outlet } from "@tanstack/react-router";
import { WorkflowPage } from "~/features/workflows/page";
import { workflowQuery } from "~/features/workflows/queries";

export const Route = createFileRoute("/_app/workflows/$id")({
  // Read anew each time: what is edited begins with what the server has.
  loader: ({ context: { queryClient }, params }) =>
    queryClient.fetchQuery({ ...workflowQuery(params.id), staleTime: 0 }),
  // Search parameters of its pages read nothing again; a visit later does.
  shouldReload: false,
  gcTime: 0,
  preload: false,
  component: Workflow,
});

function Workflow() {
  const workflow = Route.useLoaderData();
  return (
    <WorkflowPage key={workflow.id} workflow={workflow}>
      <Outlet />
    </WorkflowPage>
  );
}
