/** Values that changed, each by its name: short ones in a line, long ones as a difference of their lines. */

import "./value-changes.css";
import { type Change, valueText } from "./changes";
import { DiffView } from "./code/diff-view";

/** Longer values are compared line by line. */
const LINE_MAX = 80;

export function ValueChanges({ changes, label }: { changes: readonly Change[]; label: string }) {
  if (changes.length === 0) return null;
  return (
    <ul className="value-changes" aria-label={label}>
      {changes.map(({ name, before, after }) => {
        const [one, other] = [valueText(before), valueText(after)];
        const isLong = [one, other].some((text) => text.length > LINE_MAX || text.includes("\n"));
        return (
          <li key={name}>
            <span className="mono name">{name}</span>
            {isLong ? (
              <DiffView
                before={before === undefined ? "" : one}
                after={after === undefined ? "" : other}
                label={`Changes of ${name}`}
              />
            ) : (
              <span className="value-change">
                <del className={before === undefined ? "is-none" : "mono"}>{one}</del>
                <span aria-hidden="true">→</span>
                <ins className={after === undefined ? "is-none" : "mono"}>{other}</ins>
              </span>
            )}
          </li>
        );
      })}
    </ul>
  );
}
