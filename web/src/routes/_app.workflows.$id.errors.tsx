import { createFileRoute, redirect } from "@tanstack/react-router";

/** The errors of one workflow are the list of all, filtered by it. */
export const Route = createFileRoute("/_app/workflows/$id/errors")({
  beforeLoad: ({ params: { id } }) => {
    // The organization that the address names stays in it.
    throw redirect({ to: "/errors", search: (had) => ({ ...had, owner: id }), replace: true });
  },
});
