import { createFileRoute, redirect } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/workflows/$id/")({
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/workflows/$id/edit", params, search: true, replace: true });
  },
});
