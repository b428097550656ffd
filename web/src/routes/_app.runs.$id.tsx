import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/runs/$id")({ component: Run });

function Run() {
  return (
    <PageHead>
      <h1>Run</h1>
    </PageHead>
  );
}
