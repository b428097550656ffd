import { createFileRoute, redirect } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/system")({
  beforeLoad: () => {
    throw redirect({ to: "/settings/system", search: true, replace: true });
  },
});
