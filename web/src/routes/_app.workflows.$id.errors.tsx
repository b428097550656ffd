import { createFileRoute, redirect } from "@tanstack/react-router";
import { workflowQuery } from "~/features/workflows/queries";

/** The errors of one workflow are the list of all, with its name in the search. */
export const Route = createFileRoute("/_app/workflows/$id/errors")({
  beforeLoad: async ({ context: { queryClient }, params }) => {
    const { name } = await queryClient.ensureQueryData(workflowQuery(params.id));
    // The organization that the address names stays in it.
    throw redirect({ to: "/errors", search: (had) => ({ ...had, q: name }), replace: true });
  },
});
