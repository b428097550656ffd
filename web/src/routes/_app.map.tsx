import { createFileRoute } from "@tanstack/react-router";
import { MapPage } from "~/features/map/map-page";

export const Route = createFileRoute("/_app/map")({
  validateSearch: (given: Record<string, unknown>): { at?: string } =>
    typeof given.at === "string" ? { at: given.at } : {},
  component: MillMap,
});

function MillMap() {
  const { at } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <MapPage
      chosen={at}
      onChoose={(id) =>
        void navigate({ search: id === undefined ? {} : { at: id }, replace: true })
      }
    />
  );
}
