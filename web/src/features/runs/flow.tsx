/** Drawing of a run's time as a channel of 128 × 12: stretches of work, waiting and pauses. */

import "./flow.css";
import type { ReactNode } from "react";
import type { Stretch } from "./flow-model";

const HEIGHT = 12;
const LEAST = 3;

/** A run's time as a channel, 128 × 12: banks, water, gates. */
export function Flow({
  stretches,
  label,
  width = 128,
}: {
  stretches: readonly Stretch[];
  label: string;
  width?: number;
}) {
  const first = stretches[0]?.from ?? 0;
  const last = stretches.at(-1)?.to ?? 1;
  const scale = (width - 2) / Math.max(1, last - first);
  return (
    <svg
      className="flow"
      width={width}
      height={HEIGHT}
      viewBox={`0 0 ${width} ${HEIGHT}`}
      role="img"
      aria-label={label}
    >
      {stretches.map((stretch) => {
        const x = (stretch.from - first) * scale;
        const wide = Math.max(LEAST, (stretch.to - stretch.from) * scale);
        return <g key={stretch.from + stretch.kind}>{drawn(stretch.kind, x, wide)}</g>;
      })}
    </svg>
  );
}

function drawn(kind: Stretch["kind"], x: number, w: number): ReactNode {
  const banks = `M${x} 3h${w}M${x} 9h${w}`;
  switch (kind) {
    case "queued":
      return <path className="bank dash" d={banks} />;
    case "done":
      return (
        <>
          <rect className="still" x={x} y={2.5} width={w} height={7} />
          <path className="bank" d={banks} />
        </>
      );
    case "running":
      return <rect className="water" x={x} y={2.5} width={w} height={7} />;
    case "failed":
      return (
        <>
          <rect className="break" x={x} y={2.5} width={w} height={7} />
          <path className="stop" d={`M${x + w} 0v12`} />
        </>
      );
    case "retried": {
      const strokes: string[] = [];
      for (let at = x + 3; at < x + w + 3; at += 4) {
        const end = Math.min(at, x + w);
        const start = Math.max(at - 6, x);
        strokes.push(`M${start} ${9 - (start - (at - 6))}L${end} ${3 + (at - end)}`);
      }
      return (
        <>
          <rect className="retry" x={x} y={3} width={w} height={6} />
          <path className="hatch" d={strokes.join("")} />
        </>
      );
    }
    case "wait":
      return <path className="wait" d={`M${x} 6h${w}`} />;
    case "paused":
      return (
        <>
          <rect className="gate-fill" x={x} y={2.5} width={w} height={7} />
          <path className="gate-bank" d={banks} />
          <path className="gate" d={`M${x + 0.75} 0.5v11M${x + w - 0.75} 0.5v11`} />
        </>
      );
    case "lost":
    case "dry":
      return <path className="dry" d={`M${x} 6h${w}`} />;
  }
}
