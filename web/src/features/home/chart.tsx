/** Runs over time: those that ended well above the axis, failed ones below it, deployments as flags. */

import "~/ui/chart.css";
import type { RunStats } from "~/api/schema";
import { sidesOf, ticksOf } from "~/ui/chart-model";
import { count, day, minute, plural } from "~/ui/format";
import type { Range } from "./ranges";

const HEIGHT = 112;
const GAP = 6;
/** A bar that is not empty is seen, however low it is on the scale. */
const BAR_LEAST = 2;
/** Height that each label of the scale needs. */
const LABEL = 16;
const WIDTH = 1_200;

export type Flag = { id: string; at: number; name: string };

export function Chart({
  stats,
  range,
  flags,
}: {
  stats: RunStats;
  range: Range;
  flags: readonly Flag[];
}) {
  const { buckets, from_ms: from, to_ms: to } = stats;
  const well = buckets.map(({ succeeded, cancelled }) => succeeded + cancelled);
  const most = (values: readonly number[]) => Math.max(0, ...values);
  const { up, down, top, bottom } = sidesOf(most(well), most(buckets.map((b) => b.failed)), HEIGHT);
  const tallOf = (value: number) => (value === 0 ? 0 : Math.max(BAR_LEAST, (up * value) / top));
  const pitch = WIDTH / Math.max(1, buckets.length);
  const share = (at: number) => (100 * (at - from)) / (to - from);
  const isDays = range.name === "fortnight";
  const say = (at: number) => (isDays ? day(at, to) : minute(at));
  const offset = -new Date(to).getTimezoneOffset() * 60_000;
  const { succeeded, failed } = stats.total;
  const shown = flags.filter(({ at }) => at >= from && at <= to).slice(0, 4);
  return (
    <figure
      className="chart"
      aria-label={`Runs per ${range.per}, ${say(from)} to ${say(to)}: ${plural(succeeded, "run")} succeeded, ${count(failed)} failed`}
    >
      <div className="chart-legend micro dim" aria-hidden="true">
        <i className="chart-key is-ok" /> succeeded, per {range.per}
        <i className="chart-key is-bad" /> failed
        <i className="chart-key is-now" /> now
      </div>
      <div className="chart-y micro dim num" aria-hidden="true" style={{ height: up + LABEL }}>
        <span>{up >= LABEL && count(top)}</span>
        {up >= 3 * LABEL && <span>{count(top / 2)}</span>}
        <span>0</span>
        {bottom !== undefined && (
          <span className="chart-low" style={{ top: up + GAP + down }}>
            {count(bottom)}
          </span>
        )}
      </div>
      <div className="chart-plot" aria-hidden="true">
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT + GAP}`} preserveAspectRatio="none" aria-hidden="true">
          <path className="chart-grid" d={`M0 0.5H${WIDTH}M0 ${up / 2}H${WIDTH}`} />
          {well.map((value, index) => {
            const tall = tallOf(value);
            const isNow = index === well.length - 1;
            const [x, wide] = [index * pitch + 1, pitch - 2];
            return (
              <g key={buckets[index]?.from_ms}>
                <rect
                  className={isNow ? "is-now" : "is-ok"}
                  x={x}
                  y={up - tall}
                  width={wide}
                  height={tall}
                />
                {tall > 0 && !isNow && (
                  <path className="chart-lip" d={`M${x} ${up - tall}h${wide}`} />
                )}
              </g>
            );
          })}
          <path className="chart-axis" d={`M0 ${up + GAP / 2}H${WIDTH}`} />
          {buckets.map(({ failed, from_ms }, index) => (
            <rect
              key={from_ms}
              className="is-bad"
              x={index * pitch + 1}
              y={up + GAP}
              width={pitch - 2}
              height={tallOf(failed)}
            />
          ))}
        </svg>
        {shown.map(({ id, at, name }) => (
          <span
            key={id}
            className={share(at) > 70 ? "chart-flag is-left" : "chart-flag"}
            style={{ left: `${share(at)}%` }}
          >
            <span className="micro cut">{name}</span>
          </span>
        ))}
        <div className="chart-x micro dim num">
          {ticksOf(from, to, offset).map(({ at, share: where }) => (
            <span key={at} style={{ left: `${100 * where}%` }}>
              {say(at)}
            </span>
          ))}
        </div>
      </div>
      <table className="sr">
        <caption>Runs by status</caption>
        <thead>
          <tr>
            <th>From</th>
            <th>Succeeded</th>
            <th>Failed</th>
          </tr>
        </thead>
        <tbody>
          {buckets
            .filter((bucket) => bucket.succeeded + bucket.failed > 0)
            .map((bucket) => (
              <tr key={bucket.from_ms}>
                <td>{say(bucket.from_ms)}</td>
                <td>{bucket.succeeded}</td>
                <td>{bucket.failed}</td>
              </tr>
            ))}
        </tbody>
      </table>
    </figure>
  );
}
