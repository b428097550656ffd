import { createFileRoute } from "@tanstack/react-router";
import { SourceLog } from "~/features/sources/source-log";

export const Route = createFileRoute("/_app/sources/$id/logs")({ component: Logs });

function Logs() {
  const { id } = Route.useParams();
  return (
    <div className="source-log-page">
      <SourceLog source={id} live />
    </div>
  );
}
