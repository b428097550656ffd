/** Differences between two versions of a workflow, shown in words, values and lines of code. */

import { DiffView } from "~/ui/code/diff-view";
import { ValueChanges } from "~/ui/value-changes";
import { codeThatDiffers, type Difference, differences, valuesThatDiffer } from "./differences";

type Version = {
  readonly triggers?: readonly unknown[];
  readonly steps: readonly unknown[];
  readonly settings?: unknown;
};

const whole = ({ triggers = [], steps, settings = {} }: Version) => ({ triggers, steps, settings });

export function VersionChanges({
  before,
  after,
  none,
}: {
  before: Version;
  after: Version;
  /** Said where nothing differs. */
  none: string;
}) {
  const [one, other] = [whole(before), whole(after)];
  const found = differences(other, one);
  if (found.length === 0) return <p className="mid">{none}</p>;
  return (
    <>
      <Differences found={found} label="Changes" />
      {valuesThatDiffer(one, other).map(({ title, changes }) => (
        <section key={title} className="deploy-code">
          <h3 className="mono">{title}</h3>
          <div className="deploy-values">
            <ValueChanges changes={changes} label={`Changed values of ${title}`} />
          </div>
        </section>
      ))}
      <CodeChanges before={one.steps} after={other.steps} />
    </>
  );
}

/** What differs, a line for each step, for the triggers and the settings. */
export function Differences({ found, label }: { found: readonly Difference[]; label: string }) {
  return (
    <ul className="deploy-changes" aria-label={label}>
      {found.map(({ step, says }) => (
        <li key={`${step} ${says}`}>
          {step !== undefined && (
            <>
              <span className="mono name">{step}</span>:{" "}
            </>
          )}
          {says}
        </li>
      ))}
    </ul>
  );
}

/** Code that differs or is new, each with its lines. */
function CodeChanges({ before, after }: { before: readonly unknown[]; after: readonly unknown[] }) {
  return codeThatDiffers(before, after).map((change) => (
    <section key={change.title} className="deploy-code">
      <h3 className="mono">{change.title}</h3>
      <DiffView before={change.before} after={change.after} label={`Changes in ${change.title}`} />
    </section>
  ));
}
