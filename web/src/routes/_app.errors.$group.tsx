import { createFileRoute } from "@tanstack/react-router";
import { GroupPage } from "~/features/errors/group-page";
import { GroupRuns } from "~/features/runs/group-runs";
import { RunErrorPeek } from "~/features/runs/run-error-peek";

export const Route = createFileRoute("/_app/errors/$group")({ component: Group });

function Group() {
  const { group } = Route.useParams();
  return (
    <GroupPage
      key={group}
      id={group}
      renderRun={(id) => <RunErrorPeek key={id} id={id} />}
      renderRuns={(id) => <GroupRuns group={id} />}
    />
  );
}
