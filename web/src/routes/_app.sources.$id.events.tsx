import { createFileRoute, redirect } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/sources/$id/events")({
  beforeLoad: ({ params }) => {
    throw redirect({ to: "/sources/$id", params, search: true });
  },
});
