/** Occurrences of a group of errors on the last days, and its newest runs. */

import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ErrorGroup } from "~/api/schema";
import { Bars } from "~/ui/bars";
import { count, shortId } from "~/ui/format";
import { Glyph } from "~/ui/status";
import { When } from "~/ui/time";
import { DAYS, daysSentence } from "./days";
import { groupRunsQuery } from "./queries";

/** How often a group came on each of the last days; days that were not looked at have no bar. */
export function DayBars({
  group,
  width,
  height,
}: {
  group: ErrorGroup;
  width: number;
  height: number;
}) {
  const { days } = group;
  if (days === undefined) return null;
  return (
    <Bars
      values={days.map((day) => day ?? 0)}
      kind="bad"
      width={width}
      height={height}
      label={daysSentence(days)}
    />
  );
}

export function Lately({ group, owner }: { group: ErrorGroup; owner: string }) {
  const { data: page, isPending } = useQuery(groupRunsQuery(group.id));
  if (isPending) return <div aria-busy="true" />;
  if (page === undefined || page.data.length === 0) return null;
  const most = Math.max(0, ...(group.days ?? []).map((day) => day ?? 0));
  return (
    <section className="group-lately" aria-label="Recent activity">
      <DayBars group={group} width={360} height={44} />
      {group.days !== undefined && (
        <p className="micro dim group-days">
          <span>{DAYS} days</span>
          <span>peak per day: {count(most)}</span>
          <span>today</span>
        </p>
      )}
      <div className="group-newest">
        <h3>Newest runs</h3>
        <Link to="/runs" search={{ owner, error: group.code }} className="link small">
          All of {group.code}
        </Link>
      </div>
      <ul>
        {page.data.map(({ id, summary, created_at_ms }) => (
          <li key={id}>
            <Glyph status="failed" />
            <Link to="/runs/$id" params={{ id }} className="quiet-link mono">
              {shortId(id)}
            </Link>
            <span className="mid cut grow">{summary}</span>
            <span className="dim">
              <When at={created_at_ms} />
            </span>
          </li>
        ))}
      </ul>
    </section>
  );
}
