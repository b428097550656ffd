/** Line that sums up Home: all is well, or what needs a person. */

import { count } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { type Waiting, waitingRuns } from "./waiting";

/** One line that says whether somebody is needed, and for what. */
export function Verdict({
  failing,
  isMore,
  faults,
  waiting,
  says,
}: {
  failing: number;
  /** There are more that fail than were counted. */
  isMore: boolean;
  faults: number;
  waiting: Waiting;
  says: string;
}) {
  const needs = [
    ...(failing === 0
      ? []
      : [
          `${count(failing)}${isMore ? " or more" : ""} ${failing === 1 ? "kind" : "kinds"} of error ${says}`,
        ]),
    ...(faults === 0 ? [] : [`${count(faults)} ${faults === 1 ? "is" : "are"} blocked`]),
    ...(waiting.n === 0 ? [] : [waitingRuns(waiting)]),
  ];
  const status = failing > 0 || faults > 0 ? "failed" : waiting.n > 0 ? "paused" : "succeeded";
  return (
    <p className="verdict" role="status">
      <Glyph status={status} />
      {needs.length === 0 ? (
        <>
          <b>All clear.</b>
          <span className="mid">
            Nothing failed {says}, nothing is blocked
            {waiting.isMore
              ? ". Not all paused runs were checked."
              : ", no run is waiting for a person."}
          </span>
        </>
      ) : (
        <>
          <b>Needs attention:</b>
          <span className="mid">{needs.join(", ")}.</span>
        </>
      )}
    </p>
  );
}
