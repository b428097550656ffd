import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/sources/$id")({ component: Source });

function Source() {
  return (
    <PageHead>
      <h1>Source</h1>
    </PageHead>
  );
}
