import { createFileRoute } from "@tanstack/react-router";
import { AppsPage } from "~/features/accounts/apps-page";

export const Route = createFileRoute("/_app/apps/")({
  validateSearch: (given: Record<string, unknown>): { q?: string } =>
    given.q === undefined || given.q === "" ? {} : { q: String(given.q) },
  component: Apps,
});

function Apps() {
  const { q = "" } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <AppsPage
      q={q}
      onSearch={(next) =>
        void navigate({
          search: next === "" ? {} : { q: next },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
