import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { SourceEvents } from "~/features/sources/events";
import { sourceQuery } from "~/features/sources/queries";
import { endpointOf } from "~/features/sources/source-page";

export const Route = createFileRoute("/_app/sources/$id/")({
  validateSearch: (given: Record<string, unknown>): { event?: string } =>
    typeof given.event === "string" ? { event: given.event } : {},
  component: Events,
});

function Events() {
  const { id } = Route.useParams();
  const { event } = Route.useSearch();
  const navigate = Route.useNavigate();
  const { data: source } = useSuspenseQuery(sourceQuery(id));
  return (
    <SourceEvents
      source={source}
      endpoint={endpointOf(source)}
      chosen={event}
      onChoose={(next) =>
        void navigate({
          search: next === undefined ? {} : { event: next },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
