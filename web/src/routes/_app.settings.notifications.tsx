import { createFileRoute, redirect } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/settings/notifications")({
  beforeLoad: () => {
    throw redirect({ to: "/settings", search: true, replace: true });
  },
});
