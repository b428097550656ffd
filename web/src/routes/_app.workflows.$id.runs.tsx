import { createFileRoute } from "@tanstack/react-router";
import type { Status } from "~/api/status";
import { OwnerRuns } from "~/features/runs/owner-runs";
import { isStatus } from "~/ui/status";

export const Route = createFileRoute("/_app/workflows/$id/runs")({
  validateSearch: (given: Record<string, unknown>): { status?: Status } =>
    typeof given.status === "string" && isStatus(given.status) ? { status: given.status } : {},
  component: Runs,
});

function Runs() {
  const { id } = Route.useParams();
  const { status } = Route.useSearch();
  const navigate = Route.useNavigate();
  return (
    <OwnerRuns
      owner={id}
      isWorkflow
      status={status ?? "all"}
      onStatus={(next) =>
        void navigate({ search: next === "all" ? {} : { status: next }, replace: true })
      }
    />
  );
}
