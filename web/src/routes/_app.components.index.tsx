import { createFileRoute } from "@tanstack/react-router";
import { ComponentsPage } from "~/features/components/components-page";

const KINDS = ["published", "source", "action"] as const;

type Search = { q?: string; kind?: (typeof KINDS)[number] };

export const Route = createFileRoute("/_app/components/")({
  validateSearch: (given: Record<string, unknown>): Search => {
    const kind = KINDS.find((each) => each === given.kind);
    return {
      ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
      ...(kind === undefined ? {} : { kind }),
    };
  },
  component: Components,
});

function Components() {
  const { q, kind } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ComponentsPage
      q={q ?? ""}
      kind={kind ?? "all"}
      onFilter={(next) =>
        void navigate({
          search: {
            ...(next.q === "" ? {} : { q: next.q }),
            ...(next.kind === "all" ? {} : { kind: next.kind }),
          },
          replace: true,
        })
      }
    />
  );
}
