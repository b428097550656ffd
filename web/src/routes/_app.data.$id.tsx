import { createFileRoute } from "@tanstack/react-router";
import { storeQuery } from "~/features/data/queries";
import { StorePage } from "~/features/data/store-page";

/** Numbers are read as such from an address. */
const isText = (given: unknown) =>
  (typeof given === "string" && given !== "") || typeof given === "number";

export const Route = createFileRoute("/_app/data/$id")({
  validateSearch: (given: Record<string, unknown>): { key?: string; prefix?: string } => ({
    ...(isText(given.key) ? { key: String(given.key) } : {}),
    ...(isText(given.prefix) ? { prefix: String(given.prefix) } : {}),
  }),
  loader: ({ context: { queryClient }, params }) =>
    queryClient.ensureQueryData(storeQuery(params.id)),
  component: Store,
});

function Store() {
  const { id } = Route.useParams();
  const { key, prefix } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <StorePage
      key={id}
      id={id}
      chosen={key}
      onChoose={(next) =>
        void navigate({
          search: {
            ...(next === undefined ? {} : { key: next }),
            ...(prefix === undefined ? {} : { prefix }),
          },
          // The browser's way back leads to the keys, whichever of them were looked at.
          replace: key !== undefined || next === undefined,
          resetScroll: false,
        })
      }
      prefix={prefix ?? ""}
      onPrefix={(next) =>
        void navigate({
          search: {
            ...(key === undefined ? {} : { key }),
            ...(next === "" ? {} : { prefix: next }),
          },
          replace: true,
          resetScroll: false,
        })
      }
    />
  );
}
