import { useQuery } from "@tanstack/react-query";
import { createFileRoute } from "@tanstack/react-router";
import { lazy, Suspense } from "react";
import { sourceQuery } from "~/features/sources/queries";
import { NewWorkflow } from "~/features/workflows/new";

/** Most who begin a workflow deploy no source for it. */
const NewSource = lazy(() => import("./-new-source"));

export const Route = createFileRoute("/_app/workflows/new")({
  validateSearch: (given: Record<string, unknown>): { source?: string; event?: string } => ({
    ...(typeof given.source === "string" ? { source: given.source } : {}),
    ...(typeof given.event === "string" ? { event: given.event } : {}),
  }),
  loaderDeps: ({ search: { source } }) => ({ source }),
  loader: async ({ context: { queryClient }, deps: { source } }) => {
    if (source !== undefined) await queryClient.ensureQueryData(sourceQuery(source));
  },
  component: New,
});

function New() {
  const { source, event } = Route.useSearch();
  const { data } = useQuery({ ...sourceQuery(source ?? ""), enabled: source !== undefined });
  return (
    <NewWorkflow
      of={data === undefined ? null : { key: data.id, label: data.name }}
      event={event}
      renderNewSource={(given) => (
        <Suspense>
          <NewSource {...given} />
        </Suspense>
      )}
    />
  );
}
