/** Over the head of a list: how many newer rows wait, and the key that shows them. */

import type { RunRow } from "~/api/run-list";
import { shortcuts, useShortcuts } from "~/shell/shortcuts";
import { count } from "~/ui/format";
import { Keys } from "~/ui/keys";

export function NewBar({ fresh, onShow }: { fresh: readonly RunRow[]; onShow: () => void }) {
  useShortcuts({ pause: fresh.length > 0 ? onShow : undefined });
  const failed = fresh.filter(({ status }) => status === "failed").length;
  return (
    <div className="new-bar-place" role="status">
      {fresh.length > 0 && (
        <button type="button" className="new-bar" onClick={onShow}>
          <span>
            {count(fresh.length)} new
            {failed > 0 && <span className="failed-text">, failed {count(failed)}</span>}
          </span>
          <Keys of={shortcuts.pause.keys} />
        </button>
      )}
    </div>
  );
}
