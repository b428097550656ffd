import { createFileRoute, Link } from "@tanstack/react-router";
import { FindSource } from "~/features/sources/find";
import { useTitle } from "~/shell/title";
import { Crumbs, PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/sources/new")({
  validateSearch: (given: Record<string, unknown>): { text?: string } =>
    typeof given.text === "string" && given.text !== "" ? { text: given.text } : {},
  component: NewSource,
});

function NewSource() {
  const { text } = Route.useSearch();
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
        <FindSource first={text ?? ""} />
      </div>
    </>
  );
}
