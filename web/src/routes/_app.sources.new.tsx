import { createFileRoute, Link } from "@tanstack/react-router";
import { FindSource } from "~/features/sources/find";
import { useTitle } from "~/shell/title";
import { Crumbs, PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/sources/new")({ component: NewSource });

function NewSource() {
  useTitle("New source");
  return (
    <>
      <PageHead>
        <Crumbs>
          <Link to="/sources">Sources</Link>
          <h1>New</h1>
        </Crumbs>
      </PageHead>
      <div className="scroll">
        <FindSource />
      </div>
    </>
  );
}
