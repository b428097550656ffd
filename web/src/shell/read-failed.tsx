/** Notice of a failed read, with a button that reads again. */

import { sentence } from "~/api/errors";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { OtherOrganizations } from "./other-organizations";

/** In the place of what could not be read, or above what was read before. */
export function ReadFailed({
  what,
  error,
  again,
}: {
  /** "The webhooks": subject of the sentence. */
  what: string;
  error: Error;
  again: () => unknown;
}) {
  return (
    <div className="crash">
      <Banner
        kind="failed"
        role="alert"
        title={`${what} could not be loaded`}
        act={
          <Button size="sm" onClick={() => void again()}>
            Retry
          </Button>
        }
      >
        {sentence(error)}
      </Banner>
      <OtherOrganizations error={error} />
    </div>
  );
}
