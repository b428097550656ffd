/** Page for addresses that lead nowhere, within the frame. */

import { createFileRoute, Link } from "@tanstack/react-router";
import { useTitle } from "~/shell/title";
import { Empty } from "~/ui/banner";
import { buttonClass } from "~/ui/button";
import { PageHead } from "~/ui/pane";

export const Route = createFileRoute("/_app/$")({ component: NotThere });

/** An address that no page has: the way on stays at hand. */
function NotThere() {
  useTitle("Page not found");
  return (
    <>
      <PageHead>
        <h1>Page not found</h1>
      </PageHead>
      <Empty title="There is no page at this address.">
        <p>The link may be incomplete, or from another version of this server.</p>
        <Link to="/" className={buttonClass({})}>
          Home
        </Link>
      </Empty>
    </>
  );
}
