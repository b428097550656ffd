/** An empty list of runs: why, and the way to more of them. */

import { useQuery } from "@tanstack/react-query";
import { ownersQuery } from "~/api/queries";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { When } from "~/ui/time";
import { filterInWords } from "./filter-bar";
import { isFiltered, type Listed } from "./run-bars";
import { NoneMatch } from "./tightest";

export function NoneListed({
  listed: { view, q, filter, onShow },
  owner,
  says,
  searchedUntil,
}: {
  listed: Listed;
  /** Of one workflow or source. */
  owner?: string | undefined;
  says: string;
  /** Up to when the index of words reaches. */
  searchedUntil: number | undefined;
}) {
  const { data: owners } = useQuery(ownersQuery);
  const filtered = isFiltered(filter);
  if (filtered && q === "") {
    return (
      <NoneMatch
        view={view}
        filter={filter}
        owner={owner}
        sayOf={(name) => filterInWords(name, filter, owners)}
        onFilter={(next) => onShow({ filter: next })}
      />
    );
  }
  return (
    <Empty title={view === "all" && q === "" ? "No runs yet." : `No runs ${says}.`}>
      {filtered && <Button onClick={() => onShow({ filter: {} })}>Clear filters</Button>}
      {q !== "" && searchedUntil !== undefined && (
        // The index is made behind the runs.
        <p className="dim">
          Search covers runs accepted until <When at={searchedUntil} />.
        </p>
      )}
      {q !== "" && <Button onClick={() => onShow({ q: "" })}>Clear search</Button>}
      {view !== "all" && <Button onClick={() => onShow({ view: "all" })}>Show all</Button>}
    </Empty>
  );
}
