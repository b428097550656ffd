/** Table of a list of runs with what is above it while it is held, and the bar of the selected ones. */

import type { ReactNode } from "react";
import { ListState } from "~/shell/list-state";
import { NewRuns } from "./new-runs";
import { RunTable } from "./run-table";
import { SelectionBar } from "./selection-bar";
import { countedWords, type ShownRuns } from "./use-run-list";

export function ShownRunsOf({
  list,
  bare = false,
  says,
  empty,
}: {
  list: ShownRuns;
  /** They are all of one workflow or source, which the table does not name then. */
  bare?: boolean;
  /** "that failed or are paused": of the runs that match. */
  says: string;
  empty: ReactNode;
}) {
  const { pages, rows, ids, scroll, selection, total = 0 } = list;
  return (
    <>
      <div className="scroll" ref={scroll}>
        <NewRuns runs={list.fresh} isAtLeast={list.isAtLeast} onShow={list.show} />
        <ListState query={pages} waits={list.waits} what="The runs" empty={empty}>
          {() => (
            <RunTable
              rows={rows}
              scroll={scroll}
              current={list.current}
              index={list.index}
              bare={bare}
              marks={list.marks}
              whole={!pages.hasNextPage}
              label="Runs"
              selection={{
                selects: list.selecting.on || selection.size > 0,
                chosen: selection.chosen,
                onChoose: list.choose,
                onAll: (on) => (on ? selection.add(ids) : selection.none()),
              }}
            />
          )}
        </ListState>
      </div>
      {selection.size > 0 && (
        <SelectionBar
          selection={selection}
          rows={rows}
          total={{ n: total, says: countedWords(total) }}
          query={list.query()}
          says={says}
        />
      )}
    </>
  );
}
