import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { SourceEvents } from "~/features/sources/events";
import { sourceQuery } from "~/features/sources/queries";
import { endpointOf } from "~/features/sources/source-page";
import { type LogSearch, logSearch } from "~/shell/log-search";

export const Route = createFileRoute("/_app/sources/$id/")({
  validateSearch: (given: Record<string, unknown>): { event?: string } & LogSearch => ({
    ...logSearch(given),
    ...(typeof given.event === "string" ? { event: given.event } : {}),
  }),
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
          search: ({ event: _, ...filter }) =>
            next === undefined ? filter : { ...filter, event: next },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
