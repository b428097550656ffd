/**
 * Conflict with a draft that another person saved meanwhile: its author and time, the differences,
 * and a merge of both.
 */

import { useState } from "react";
import { Banner } from "~/ui/banner";
import { Button } from "~/ui/button";
import { DiffView } from "~/ui/code/diff-view";
import { CloseDialog, Dialog } from "~/ui/dialog";
import { plural } from "~/ui/format";
import { Segments } from "~/ui/pane";
import { differences } from "./differences";
import { type Choices, type Conflict, mergeOf, type Side, sameKeys } from "./merge";
import { draftOf } from "./model";
import { type ChangedElsewhere, useBuilder } from "./use-builder";
import { Differences } from "./version-changes";

export function ChangedElsewhereNotice({ error }: { error: ChangedElsewhere }) {
  const builder = useBuilder();
  const { base, saved } = builder.state;
  const [decides, setDecides] = useState(false);
  const theirs = sameKeys(draftOf(error.record), saved);
  const { draft, conflicts } = mergeOf(saved, builder.draft, theirs);
  const keepBoth = () => builder.takeBoth(error.record, theirs, draft);
  return (
    <div className="bld-notice">
      <Banner
        kind="waits"
        role="alert"
        title={error.message}
        act={
          <span className="row">
            {conflicts.length === 0 ? (
              <Button size="sm" look="primary" onClick={keepBoth}>
                Keep both
              </Button>
            ) : (
              <Button size="sm" look="primary" onClick={() => setDecides(true)}>
                Resolve {plural(conflicts.length, "change")}…
              </Button>
            )}
            <Button size="sm" onClick={() => builder.save.mutate({ over: error.record })}>
              Overwrite with mine
            </Button>
            <Button size="sm" onClick={() => builder.takeTheirs(error.record)}>
              Use theirs
            </Button>
          </span>
        }
      >
        {conflicts.length === 0
          ? "Your changes and theirs do not overlap: both can be kept."
          : "Nothing was saved or deployed. What you typed is still here. If you use theirs, Undo restores yours."}
        <Differences found={differences(error.record, base)} label="What was changed elsewhere" />
      </Banner>
      {decides && (
        <Decide
          error={error}
          conflicts={conflicts}
          onClose={() => setDecides(false)}
          onDecided={(choices) => {
            setDecides(false);
            const decided = mergeOf(saved, builder.draft, theirs, choices);
            builder.takeBoth(error.record, theirs, decided.draft);
          }}
        />
      )}
    </div>
  );
}

/** Each thing that both changed: how it was, and the two it became. */
function Decide({
  error,
  conflicts,
  onClose,
  onDecided,
}: {
  error: ChangedElsewhere;
  conflicts: readonly Conflict[];
  onClose: () => void;
  onDecided: (choices: Choices) => void;
}) {
  const [choices, setChoices] = useState<Choices>({});
  const by = error.record.draft.changed_by?.name ?? "Theirs";
  const submit = () => onDecided(choices);
  return (
    <Dialog
      open
      onClose={onClose}
      title="Changed by both"
      about={error.record.name}
      size="wide"
      onSubmit={submit}
      foot={
        <>
          <span className="dim small grow">
            Changes that only one of you made are kept. Undo restores yours.
          </span>
          <CloseDialog />
          <Button look="primary" keys="mod+enter" onClick={submit}>
            Apply choices
          </Button>
        </>
      }
    >
      <div className="dialog-body">
        {conflicts.map(({ id, what, texts }) => {
          const chosen = choices[id] ?? "mine";
          return (
            <section key={id} className="merge" aria-label={what}>
              <div className="merge-head">
                <h3 className="mono cut">{what}</h3>
                <Segments<Side>
                  label={`Which ${what}`}
                  value={chosen}
                  onChange={(side) => setChoices({ ...choices, [id]: side })}
                  choices={[
                    ["mine", "Yours"],
                    ["theirs", by],
                  ]}
                />
              </div>
              <div className="merge-sides">
                <div className={chosen === "mine" ? "is-on" : undefined}>
                  <p className="small dim">Yours, compared with the common base</p>
                  <DiffView before={texts.base} after={texts.mine} label={`Your ${what}`} />
                </div>
                <div className={chosen === "theirs" ? "is-on" : undefined}>
                  <p className="small dim">{by}, compared with the same</p>
                  <DiffView before={texts.base} after={texts.theirs} label={`${what} of ${by}`} />
                </div>
              </div>
            </section>
          );
        })}
      </div>
    </Dialog>
  );
}
