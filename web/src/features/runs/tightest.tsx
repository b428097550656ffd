/** An empty list of runs: how many there are in all, and the filter that leaves most of them out. */

import { useQueries } from "@tanstack/react-query";
import { body, client } from "~/api/client";
import { COUNTED_MAX } from "~/shell/counted";
import { Empty } from "~/ui/banner";
import { Button } from "~/ui/button";
import { count, plural } from "~/ui/format";
import { FILTER_NAMES, type FilterName, queryOf, type RunFilter } from "./run-filter";
import type { RunView } from "./views";

const totalQuery = (view: RunView, filter: RunFilter, owner: string | undefined) => ({
  queryKey: ["runs", "total", view, filter, owner ?? ""],
  queryFn: async ({ signal }: { signal: AbortSignal }) => {
    const query = {
      ...queryOf(view, filter, "", Date.now()),
      ...(owner === undefined ? {} : { owner_id: owner }),
      limit: 1,
      include: "id",
    };
    const page = await body(client.GET("/v1/runs", { params: { query }, signal }));
    return page.page_info.total_count;
  },
});

export function NoneMatch({
  view,
  filter,
  owner,
  sayOf,
  onFilter,
}: {
  view: RunView;
  filter: RunFilter;
  /** Of one workflow or source. */
  owner?: string | undefined;
  /** A filter in words, such as "last hour". */
  sayOf: (name: FilterName) => string;
  onFilter: (filter: RunFilter) => void;
}) {
  const names = FILTER_NAMES.filter((name) => filter[name] !== undefined);
  const without = names.map((name) => {
    const { [name]: _, ...others } = filter;
    return others;
  });
  const totals = useQueries({
    queries: [{}, ...without].map((others) => totalQuery(view, others, owner)),
  });
  const [all, ...each] = totals.map(({ data }) => data);
  if (totals.some(({ isPending }) => isPending)) return null;
  const most = Math.max(0, ...each.map((total) => total ?? 0));
  const at = each.indexOf(most);
  const name = names[at];
  const runs =
    (all ?? 0) >= COUNTED_MAX ? `${count(COUNTED_MAX)} runs or more` : plural(all ?? 0, "run");
  return (
    <Empty title={all === 0 ? "No runs yet." : `None of ${runs} match.`}>
      {name !== undefined && most > 0 ? (
        <>
          <p>
            <em>{sayOf(name)}</em> excludes{" "}
            {most >= COUNTED_MAX ? `${count(COUNTED_MAX)} or more` : count(most)} that match the
            other filters.
          </p>
          <Button onClick={() => onFilter(without[at] ?? {})}>Clear {sayOf(name)}</Button>
        </>
      ) : null}
      <Button onClick={() => onFilter({})}>Clear filters</Button>
    </Empty>
  );
}
