import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/sources/")({ component: Sources });

function Sources() {
  return (
    <PageHead>
      <h1>Sources</h1>
    </PageHead>
  );
}
