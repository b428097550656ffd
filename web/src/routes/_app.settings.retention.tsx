import { createFileRoute, redirect } from "@tanstack/react-router";

export const Route = createFileRoute("/_app/settings/retention")({
  beforeLoad: () => {
    throw redirect({ to: "/settings", search: true, hash: "history", replace: true });
  },
});
