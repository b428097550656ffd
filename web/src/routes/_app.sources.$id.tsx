import { createFileRoute, Outlet } from "@tanstack/react-router";
import { ownersQuery, subscriptionsQuery, webhookNamesQuery } from "~/api/queries";
import { componentOfId, sourceQuery } from "~/features/sources/queries";
import { SourcePage } from "~/features/sources/source-page";
import { sessionQuery } from "~/shell/session";

export const Route = createFileRoute("/_app/sources/$id")({
  loader: async ({ context: { queryClient }, params }) => {
    const { org } = await queryClient.ensureQueryData(sessionQuery);
    const listening = Promise.all([
      queryClient.prefetchQuery(subscriptionsQuery(org.id)),
      queryClient.prefetchQuery(ownersQuery),
      queryClient.prefetchQuery(webhookNamesQuery),
    ]);
    const source = await queryClient.ensureQueryData(sourceQuery(params.id));
    // What the head says of them stands above every part of the source.
    await queryClient.prefetchQuery(componentOfId(source.component_id));
    await listening;
  },
  component: Source,
});

function Source() {
  const { id } = Route.useParams();
  return (
    <SourcePage key={id} id={id}>
      <Outlet />
    </SourcePage>
  );
}
