/**
 * Chart of a group's errors on each of the last days, with a flag for each deployment of its owner.
 */

import "~/ui/chart.css";
import { useQuery } from "@tanstack/react-query";
import { deployedQuery } from "~/api/deployments";
import type { ErrorGroup } from "~/api/schema";
import { niceTop } from "~/ui/chart-model";
import { count, day } from "~/ui/format";
import { DAY_MS, daysSentence, daysUntil, endOfDays } from "./days";
import { groupDaysQuery } from "./queries";

const WIDTH = 700;
const HEIGHT = 96;
/** More flags than these would lie over each other: the newest are shown, and the rest are named in the table. */
const FLAGS_MAX = 6;
/** Days between the dates of the axis. */
const DATES = 3;

export function GroupChart({ group }: { group: ErrorGroup }) {
  const { data: days } = useQuery(groupDaysQuery(group));
  const isWorkflow = group.workflow_id !== null;
  const owner = group.workflow_id ?? group.source_id ?? "";
  const { data: deployed = [] } = useQuery(deployedQuery(owner, isWorkflow));
  if (days === undefined) return <div className="group-chart" aria-busy="true" />;
  if (days === null) return null;
  const end = endOfDays(Date.now());
  const begins = daysUntil(end);
  const from = begins[0] ?? end;
  const top = niceTop(Math.max(0, ...days.map((each) => each ?? 0)));
  const pitch = WIDTH / days.length;
  const within = deployed.filter(({ at }) => at >= from && at <= end);
  const share = (at: number) => (100 * (at - from)) / (end - from);
  return (
    <figure className="group-chart" aria-label={daysSentence(days)}>
      <div className="chart-y micro dim num" aria-hidden="true">
        <span>{count(top)}</span>
        <span>0</span>
      </div>
      <div className="chart-plot" aria-hidden="true">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" aria-hidden="true">
          <path className="chart-grid" d={`M0 0.5H${WIDTH}M0 ${HEIGHT / 2}H${WIDTH}`} />
          {days.map((value, at) => {
            const tall = !value ? 0 : Math.max(3, (HEIGHT * value) / top);
            return (
              <rect
                key={begins[at]}
                className="is-bad"
                x={at * pitch + 2}
                y={HEIGHT - tall}
                width={pitch - 4}
                height={tall}
              />
            );
          })}
          <path className="chart-axis" d={`M0 ${HEIGHT - 0.5}H${WIDTH}`} />
        </svg>
        {within.slice(0, FLAGS_MAX).map(({ id, at, version }) => (
          <span
            key={id}
            className={share(at) > 90 ? "chart-flag is-left" : "chart-flag"}
            style={{ left: `${share(at)}%` }}
          >
            <span className="micro cut">v{version}</span>
          </span>
        ))}
        <div className="chart-x micro dim num">
          {begins.map((at, index) =>
            (index % DATES === 0 && index < begins.length - 2) || index === begins.length - 1 ? (
              <span key={at} style={{ left: `${share(at + DAY_MS / 2)}%` }}>
                {index === begins.length - 1 ? "today" : day(at, end)}
              </span>
            ) : null,
          )}
        </div>
      </div>
      <table className="sr">
        <caption>Errors by day</caption>
        <thead>
          <tr>
            <th>Day</th>
            <th>Errors</th>
            <th>Deployed</th>
          </tr>
        </thead>
        <tbody>
          {begins.map((at, index) => (
            <tr key={at}>
              <td>{day(at, end)}</td>
              <td>{days[index] ?? "not counted"}</td>
              <td>
                {within
                  .filter((each) => each.at >= at && each.at < at + DAY_MS)
                  .map(({ version }) => `v${version}`)
                  .join(", ")}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </figure>
  );
}
