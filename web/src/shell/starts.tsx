/** The triggers of a workflow or source in words, with a cron line spelled out. */

import { Fragment } from "react";
import { useCronWords } from "./cron-words";

export type Start = string | { cron: string; zone: string };

export function Starts({ of }: { of: readonly Start[] }) {
  if (of.length === 0) return "manually";
  return of.map((start, at) => (
    <Fragment key={typeof start === "string" ? start : `${start.cron} ${start.zone}`}>
      {at > 0 && ", "}
      {typeof start === "string" ? start : <Cron {...start} />}
    </Fragment>
  ));
}

function Cron({ cron, zone }: { cron: string; zone: string }) {
  const words = useCronWords(cron);
  return (
    <span title={`${cron}, ${zone}`}>
      {words.charAt(0).toLowerCase() + words.slice(1)}, {zone}
    </span>
  );
}
