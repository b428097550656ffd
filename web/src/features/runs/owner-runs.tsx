/** Runs of one source or workflow. */

import { useQuery } from "@tanstack/react-query";
import { ownersQuery } from "~/api/queries";
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
  const { data: owners } = useQuery(ownersQuery);
  const list = useRunList({
    key: JSON.stringify([owner, view, filter, q]),
    query: () => ({ ...queryOf(view, filter, q, Date.now()), owner_id: owner }),
    isSearch: q !== "",
    owner: { id: owner, isWorkflow },
  });
  const name = owners?.get(owner)?.name;
  const ofOne = name === undefined ? "" : `of ${name}`;
  const says = view === "all" ? saysOf(listed, ofOne) : `${ofOne} ${saysOf(listed)}`.trim();
  return (
    <>
      <RunBars listed={listed} ofOne showing={showingWords(list.ids.length, list.total, says)} />
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
