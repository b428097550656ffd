import { createFileRoute } from "@tanstack/react-router";
import { ComponentPage } from "~/features/components/component-page";
import { componentQuery } from "~/features/components/queries";

export const Route = createFileRoute("/_app/components/$id")({
  loader: ({ context: { queryClient }, params }) =>
    queryClient.ensureQueryData(componentQuery(params.id)),
  component: Component,
});

function Component() {
  const { id } = Route.useParams();
  return <ComponentPage key={id} id={id} />;
}
