/** Two events of a source, line by line. */

import { useQueries } from "@tanstack/react-query";
import { eventQuery } from "~/api/events";
import { exactText } from "~/json/exact";
import { ReadFailed } from "~/shell/read-failed";
import { SkeletonRows } from "~/ui/banner";
import { DiffView } from "~/ui/code/diff-view";
import { clock } from "~/ui/format";

/** An event, and the words that it was found by. */
export type Found = { id: string; words: string };

export function CompareEvents({
  source,
  before,
  after,
}: {
  source: string;
  before: Found;
  after: Found;
}) {
  const [one, other] = useQueries({
    queries: [
      eventQuery(source, before.id, before.words),
      eventQuery(source, after.id, after.words),
    ],
  });
  const failed = one.error ?? other.error;
  if (failed !== null) return <ReadFailed what="The events" error={failed} again={one.refetch} />;
  if (one.data === undefined || other.data === undefined) return <SkeletonRows height={20} />;
  return (
    <div className="scroll event-compare">
      <p className="event-use small mid">
        {clock(one.data.indexed_at_ms)} against {clock(other.data.indexed_at_ms)}
      </p>
      <DiffView
        before={textOf(one.data.event)}
        after={textOf(other.data.event)}
        label="Differences between the events"
      />
    </div>
  );
}

const textOf = (event: unknown) => `${exactText(event, 2) ?? ""}\n`;
