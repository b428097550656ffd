/** Over the head of a live list: how many newer rows wait, and the key that shows them. */

import type { ReactNode } from "react";
import { count } from "~/ui/format";
import { Keys } from "~/ui/keys";
import { shortcuts, useShortcuts } from "./shortcuts";

/** "12", or "50+" where more may wait. */
export function countOf(n: number, isAtLeast: boolean): string {
  return `${count(n)}${isAtLeast ? "+" : ""}`;
}

export function NewBar({
  fresh,
  isAtLeast,
  onShow,
  children,
}: {
  /** How many wait. */
  fresh: number;
  isAtLeast: boolean;
  onShow: () => void;
  /** What is among them. */
  children?: ReactNode;
}) {
  // Also without newer ones: rows that the list has no more leave.
  useShortcuts({ pause: onShow });
  return (
    <div className="new-bar-place" role="status">
      {fresh > 0 && (
        <button type="button" className="new-bar" onClick={onShow}>
          <span>
            {countOf(fresh, isAtLeast)} new{children}
          </span>
          <Keys of={shortcuts.pause.keys} />
        </button>
      )}
    </div>
  );
}
