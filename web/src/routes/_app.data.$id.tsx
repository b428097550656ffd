import { createFileRoute } from "@tanstack/react-router";
import { storeQuery } from "~/features/data/queries";
import { StorePage } from "~/features/data/store-page";

export const Route = createFileRoute("/_app/data/$id")({
  validateSearch: (given: Record<string, unknown>): { key?: string } =>
    typeof given.key === "string" || typeof given.key === "number"
      ? { key: String(given.key) }
      : {},
  loader: ({ context: { queryClient }, params }) =>
    queryClient.ensureQueryData(storeQuery(params.id)),
  component: Store,
});

function Store() {
  const { id } = Route.useParams();
  const { key } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <StorePage
      key={id}
      id={id}
      chosen={key}
      onChoose={(next) =>
        void navigate({
          search: next === undefined ? {} : { key: next },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
