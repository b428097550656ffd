import { useSuspenseQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { propsOf } from "~/api/props";
import { PropForm } from "~/features/prop-form/prop-form";
import { usePropForm } from "~/features/prop-form/use-prop-form";
import { Configure } from "~/features/sources/configure";
import { componentOfId, sourceQuery } from "~/features/sources/queries";

export const Route = createFileRoute("/_app/sources/$id/configure")({
  loader: async ({ context: { queryClient }, params }) => {
    const source = await queryClient.ensureQueryData(sourceQuery(params.id));
    await queryClient.ensureQueryData(componentOfId(source.component_id));
  },
  component: ConfigureSource,
});

function ConfigureSource() {
  const { id } = Route.useParams();
  const { data: source } = useSuspenseQuery(sourceQuery(id));
  const { data: component } = useSuspenseQuery(componentOfId(source.component_id));
  const props = propsOf(component.configurable_props);
  const form = usePropForm({
    target: id,
    props,
    stored: source.configured_props,
    // The server never gives a secret back, only the names of those that are set.
    sealed: source.sealed_props,
    keepAs: `source.${id}`,
  });
  return (
    <Configure source={source} form={form}>
      <PropForm form={form} stored={source.configured_props} />
    </Configure>
  );
}
