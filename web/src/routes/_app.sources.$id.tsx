import { createFileRoute, Outlet } from "@tanstack/react-router";
import { sourceQuery } from "~/features/sources/queries";
import { SourcePage } from "~/features/sources/source-page";

export const Route = createFileRoute("/_app/sources/$id")({
  loader: ({ context: { queryClient }, params }) =>
    queryClient.ensureQueryData(sourceQuery(params.id)),
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
