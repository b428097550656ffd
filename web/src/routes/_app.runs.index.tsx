import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/runs/")({ component: Runs });

function Runs() {
  return (
    <PageHead>
      <h1>Runs</h1>
    </PageHead>
  );
}
