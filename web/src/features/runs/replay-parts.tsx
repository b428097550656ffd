/** Parts of the dialogs that replay: choices, what runs again, and what calls out. */

import "./replay.css";
import { Radio } from "@base-ui/react/radio";
import type { ReactNode } from "react";
import { Banner } from "~/ui/banner";
import { plural } from "~/ui/format";
import type { Fate } from "./replay-plan";

export function Pick({
  value,
  title,
  says,
  end,
  disabled = false,
}: {
  value: string;
  disabled?: boolean;
  title: ReactNode;
  says: ReactNode;
  end?: ReactNode;
}) {
  return (
    // biome-ignore lint/a11y/noLabelWithoutControl: the radio within is the control
    <label className="pick">
      <Radio.Root value={value} disabled={disabled} className="radio">
        <Radio.Indicator className="radio-dot" />
      </Radio.Root>
      <span className="pick-text">
        <span className="name">{title}</span>
        <span className="small dim">{says}</span>
      </span>
      {end}
    </label>
  );
}

/** Beyond these a stretch has no room for a name, and names that are alike differ at their end. */
const MANY = 8;

const middle = (name: string): string =>
  name.length > 11 ? `${name.slice(0, 4)}…${name.slice(-6)}` : name;

const fateWords = { kept: "kept", again: "runs again", off: "off" } as const;

export function Flow({ fates }: { fates: readonly Fate[] }) {
  return (
    <ol className="replay-flow" aria-label="What runs again">
      {fates.map(({ step, fate }) => (
        <li key={step.name} className={`replay-step is-${fate}`}>
          <span className="replay-bar" />
          <span className="mono cut" title={step.name}>
            {fates.length > MANY ? middle(step.name) : step.name}
          </span>
          <span className="micro dim">{fateWords[fate]}</span>
        </li>
      ))}
    </ol>
  );
}

/** Steps with accounts do again what they did. */
export function CallsOut({ fates }: { fates: readonly Fate[] }) {
  const calling = fates.filter(({ step, fate }) => fate === "again" && step.apps.length > 0);
  if (calling.length === 0) return null;
  return (
    <div className="replay-warn">
      <Banner
        kind="waits"
        title={`${plural(calling.length, "step")} ${calling.length === 1 ? "makes" : "make"} external calls again`}
      >
        {calling.map(({ step }, index) => (
          <span key={step.name}>
            {index > 0 && ", "}
            <span className="mono">{step.name}</span> with {step.apps.join(", ")}
          </span>
        ))}
        .
      </Banner>
    </div>
  );
}
