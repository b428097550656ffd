import { createFileRoute, Outlet } from "@tanstack/react-router";
import { WorkflowPage } from "~/features/workflows/page";
import { deploymentQuery, failingQuery, workflowQuery } from "~/features/workflows/queries";

export const Route = createFileRoute("/_app/workflows/$id")({
  // Read anew each time: what is edited begins with what the server has.
  loader: async ({ context: { queryClient }, params: { id } }) => {
    const workflow = await queryClient.fetchQuery({ ...workflowQuery(id), staleTime: 0 });
    // What the head says of them stands above every part of the workflow.
    if (workflow.deployment_id !== null) {
      const live = await queryClient
        .ensureQueryData(deploymentQuery(id, workflow.deployment_id))
        .catch(() => undefined);
      if (live !== undefined) await queryClient.prefetchQuery(failingQuery(id, live));
    }
    return workflow;
  },
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
