/** Line under an editor: the number of problems of the code, and a link to the first. */

import { WandSparkles } from "lucide-react";
import { Button } from "../../button";
import { plural } from "../../format";
import type { Problem } from "./core";

export function LanguageStatus({
  problems,
  onShow,
  onFormat,
}: {
  problems: readonly Problem[] | "failed";
  onShow: (problem: Problem) => void;
  onFormat: (() => void) | undefined;
}) {
  const first = problems === "failed" ? undefined : problems[0];
  return (
    <div className="editor-status small">
      <span role="status" className="cut">
        {problems === "failed" ? (
          <span className="dim">Types are not available; completion uses the test data.</span>
        ) : first === undefined ? (
          <span className="dim">No problems. Types come from this event.</span>
        ) : (
          <button type="button" className="link" onClick={() => onShow(first)}>
            {plural(problems.length, "problem")}, line {first.line}
          </button>
        )}
      </span>
      <span className="grow" />
      {onFormat !== undefined && (
        <Button
          size="sm"
          look="quiet"
          icon={WandSparkles}
          aria-keyshortcuts="Shift+Alt+F"
          onClick={onFormat}
        >
          Format
        </Button>
      )}
    </div>
  );
}
