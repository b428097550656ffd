import { createFileRoute } from "@tanstack/react-router";
import { ComponentsPage } from "~/features/components/components-page";

const KINDS = ["published", "source", "action"] as const;

type Search = { q?: string; kind?: (typeof KINDS)[number]; registry?: string };

export const Route = createFileRoute("/_app/components/")({
  validateSearch: (given: Record<string, unknown>): Search => {
    const kind = KINDS.find((each) => each === given.kind);
    return {
      ...(typeof given.q === "string" && given.q !== "" ? { q: given.q } : {}),
      ...(kind === undefined ? {} : { kind }),
      ...(typeof given.registry === "string" && given.registry !== ""
        ? { registry: given.registry }
        : {}),
    };
  },
  component: Components,
});

function Components() {
  const { q, kind, registry } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <ComponentsPage
      q={q ?? ""}
      kind={kind ?? "all"}
      registry={registry}
      onFilter={(next) =>
        void navigate({
          search: {
            ...(next.q === "" ? {} : { q: next.q }),
            ...(next.kind === "all" ? {} : { kind: next.kind }),
            ...(next.registry === undefined ? {} : { registry: next.registry }),
          },
          replace: true,
        })
      }
    />
  );
}
