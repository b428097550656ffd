/** Row of bars on a scale of its own, described by a sentence. */

import "./bars.css";
import { Fragment } from "react";

/** A row of bars on a scale of its own; the sentence says what they are. */
export function Bars({
  values,
  bad,
  width,
  height,
  label,
  kind = "plain",
  lastIsNow = false,
}: {
  values: readonly number[];
  /** How much of each value went wrong: drawn within it, from below. */
  bad?: readonly number[];
  width: number;
  height: number;
  label: string;
  kind?: "plain" | "bad" | "soft";
  lastIsNow?: boolean;
}) {
  const most = Math.max(1, ...values);
  const pitch = width / Math.max(1, values.length);
  const gap = pitch > 4 ? 1 : 0.5;
  return (
    <svg
      className="bars"
      width={width}
      height={height}
      viewBox={`0 0 ${width} ${height}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      {values.map((value, index) => {
        const wrong = bad?.[index] ?? 0;
        const tall = value === 0 ? 1 : Math.max(2, (height * value) / most);
        const last = lastIsNow && index === values.length - 1;
        const low = wrong === 0 ? 0 : Math.max(2, (tall * wrong) / value);
        return (
          <Fragment key={index}>
            <rect
              x={index * pitch}
              y={height - tall}
              width={pitch - gap}
              height={tall}
              className={
                value === 0
                  ? "is-none"
                  : last
                    ? "is-now"
                    : kind === "plain"
                      ? undefined
                      : `is-${kind}`
              }
            />
            {low > 0 && (
              <rect
                x={index * pitch}
                y={height - low}
                width={pitch - gap}
                height={low}
                className="is-bad"
              />
            )}
          </Fragment>
        );
      })}
    </svg>
  );
}
