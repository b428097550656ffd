import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/errors/")({ component: Errors });

function Errors() {
  return (
    <PageHead>
      <h1>Errors</h1>
    </PageHead>
  );
}
