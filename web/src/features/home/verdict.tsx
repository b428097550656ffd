/** Line that sums up Home: all is well, or what needs a person. */

import { count, plural } from "~/ui/format";
import { Glyph } from "~/ui/status";

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
  waiting: number;
  says: string;
}) {
  const needs = [
    ...(failing === 0
      ? []
      : [
          `${count(failing)}${isMore ? " or more" : ""} ${failing === 1 ? "kind" : "kinds"} of error ${says}`,
        ]),
    ...(faults === 0 ? [] : [`${count(faults)} ${faults === 1 ? "stands" : "stand"} still`]),
    ...(waiting === 0
      ? []
      : [`${plural(waiting, "run")} ${waiting === 1 ? "waits" : "wait"} for a person`]),
  ];
  const status = failing > 0 || faults > 0 ? "failed" : waiting > 0 ? "paused" : "succeeded";
  return (
    <p className="verdict" role="status">
      <Glyph status={status} />
      {needs.length === 0 ? (
        <>
          <b>All is well.</b>
          <span className="mid">
            Nothing failed {says}, nothing stands still, nobody is waited for.
          </span>
        </>
      ) : (
        <>
          <b>Needs you:</b>
          <span className="mid">{needs.join(", ")}.</span>
        </>
      )}
    </p>
  );
}
