import { createFileRoute } from "@tanstack/react-router";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/")({ component: Home });

function Home() {
  return (
    <PageHead>
      <h1>Home</h1>
    </PageHead>
  );
}
