/** Runs of one source or workflow. */

import { NoneListed } from "./none-listed";
import { type Listed, RunBars, saysOf } from "./run-bars";
import { queryOf } from "./run-filter";
import { ShownRunsOf } from "./shown-runs";
import { showingWords, useRunList } from "./use-run-list";

export function OwnerRuns({
  owner,
  isWorkflow,
  listed,
}: {
  owner: string;
  isWorkflow: boolean;
  listed: Listed;
}) {
  const { view, q, filter } = listed;
  const list = useRunList({
    key: JSON.stringify([owner, view, filter, q]),
    query: () => ({ ...queryOf(view, filter, q, Date.now()), owner_id: owner }),
    isSearch: q !== "",
    owner: { id: owner, isWorkflow },
  });
  const ofOne = isWorkflow ? "of this workflow" : "of this source";
  const says = view === "all" ? saysOf(listed, ofOne) : `${ofOne} ${saysOf(listed)}`;
  return (
    <>
      <RunBars
        selecting={list.selecting}
        listed={listed}
        ofOne
        showing={showingWords(list.ids.length, list.total, says)}
      />
      <ShownRunsOf
        list={list}
        bare
        says={says}
        empty={
          <NoneListed
            listed={listed}
            owner={owner}
            says={says}
            searchedUntil={list.first?.search?.indexed_until_ms}
          />
        }
      />
    </>
  );
}
