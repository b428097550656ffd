import { createFileRoute } from "@tanstack/react-router";
import { logSearch } from "~/shell/log-search";
import { OwnerLog } from "~/shell/owner-log";

export const Route = createFileRoute("/_app/sources/$id/logs")({
  validateSearch: logSearch,
  component: Logs,
});

function Logs() {
  const { id } = Route.useParams();
  return (
    <div className="source-log-page">
      <OwnerLog owner={id} isWorkflow={false} live />
    </div>
  );
}
